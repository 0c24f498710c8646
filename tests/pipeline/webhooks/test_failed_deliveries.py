"""Deliveries that fail: retries, restarts, and webhooks that are disabled."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from cryptography.fernet import Fernet

from engine.design import lifecycle
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.lanes import WIDTH
from pipeline.store.catalog.webhooks import message_queue
from pipeline.webhooks import webhook_messages
from pipeline.webhooks.sending import Sender
from pipeline.webhooks.webhook_messages import TRIED_FOR, WAITS, deliver_messages
from pipeline.webhooks.webhook_requests import revise_webhook
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.webhooks.receiving_endpoint import Endpoint, an_endpoint
from tests.pipeline.webhooks.told_webhooks import SECOND, change, deliver, deliveries, reread, told, types
from tests.waiting import wait_until


def test_a_message_waits_longer_after_each_failure_and_survives_restarts(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    webhook, _ = told(service, project, endpoint.url)
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start)
    endpoint.status = 500
    deliver(service)
    for wait in WAITS[:4]:
        service.restart()
        (waiting,) = deliveries(service, webhook)
        assert waiting.next_attempt_at == pytest.approx(service.now + wait, abs=SECOND)
        attempts = len(endpoint.received)
        service.now += wait - SECOND
        deliver_messages(service.store)
        assert len(endpoint.received) == attempts
        service.now += SECOND
        deliver_messages(service.store)
        assert len(endpoint.received) == attempts + 1
    endpoint.status = 200
    deliver(service, after=WAITS[4])
    (sent,) = deliveries(service, webhook)
    assert (sent.status, sent.attempts, sent.error) == ("delivered", 6, None)
    ids = {received.headers["webhook-id"] for received in endpoint.received}
    assert ids == {sent.id}
    assert len({received.body for received in endpoint.received}) == 1


def test_an_endpoint_that_fails_for_a_day_is_disabled(
    service: RestartableService, project: Project, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    webhook, _ = told(service, project, endpoint.url)
    change(service, service.store.add_experiment(project, status="draft"), lifecycle.start)
    (first,) = deliveries(service, webhook)
    endpoint.status = 503
    deliver(service)
    for wait in WAITS:
        assert reread(service, webhook).disabled_reason is None
        deliver(service, after=wait)
    assert service.now - first.created_at < TRIED_FOR
    (failed,) = deliveries(service, webhook)
    assert (failed.status, failed.attempts, failed.response_status) == ("failed", 11, 503)
    assert "is given up: the endpoint answered 503" in caplog.text
    assert reread(service, webhook).disabled_reason == "failing"
    entry = service.store.catalog.audit.of(webhook.id)[-1]
    assert (entry.actor, entry.changes) == ("webhooks", {"disabled_reason": [None, "failing"]})
    # Enabled again, it is told of what comes, and of nothing before.
    endpoint.status = 200
    del endpoint.received[:]
    enable = partial(revise_webhook, fields={"enabled": True}, networks=())
    service.store.catalog.webhooks.change(project.id, webhook.id, enable, now=utc_now(), actor="test")
    change(service, service.store.add_experiment(project, status="draft"), lifecycle.start)
    deliver(service)
    assert len(endpoint.received) == 1


def test_one_message_that_is_refused_does_not_disable_the_endpoint(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    webhook, _ = told(service, project, endpoint.url)
    change(service, service.store.add_experiment(project, status="draft"), lifecycle.start)
    endpoint.status = 422
    deliver(service)
    for wait in WAITS[:-1]:
        deliver(service, after=wait)
    endpoint.status = 200
    change(service, service.store.add_experiment(project, status="draft"), lifecycle.start)
    # The refused one waits; the other is sent.
    deliver(service)
    endpoint.status = 422
    deliver(service, after=WAITS[-1])
    refused, sent = deliveries(service, webhook)
    assert (refused.status, sent.status) == ("failed", "delivered")
    assert reread(service, webhook).disabled_reason is None


def test_an_endpoint_that_is_gone_is_disabled_at_once(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    webhook, _ = told(service, project, endpoint.url)
    endpoint.status = 410
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start, lifecycle.pause)
    deliver(service)
    assert reread(service, webhook).disabled_reason == "gone"
    assert [one.status for one in deliveries(service, webhook)] == ["failed", "failed"]
    assert [one.attempts for one in deliveries(service, webhook)] == [1, 0]
    change(service, experiment, lifecycle.resume)
    deliver(service, after=timedelta(days=1))
    assert len(endpoint.received) == 1


def test_an_endpoint_that_is_down_delays_no_other(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    with an_endpoint() as gone_down:
        url = gone_down.url
    down, _ = told(service, project, url)
    told(service, project, endpoint.url, events=["experiment.completed"])
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start, *[lifecycle.pause, lifecycle.resume] * 20)
    change(service, experiment, lifecycle.complete)
    deliver(service)
    assert types(endpoint) == ["experiment.completed"]
    # One attempt, and the others wait for a minute at least.
    assert sum(one.attempts for one in deliveries(service, down)) == 1
    deliver(service, after=timedelta(seconds=30))
    assert sum(one.attempts for one in deliveries(service, down)) == 2
    assert all("refused" in (one.error or "refused") for one in deliveries(service, down))


def test_endpoints_that_do_not_answer_delay_no_other_account(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_messages, "_WAIT_SECONDS", 0.1)
    with an_endpoint() as slow:
        slow.answers.clear()
        slow_project = service.store.add_project()
        waiting = [told(service, slow_project, slow.url)[0] for _ in range(WIDTH + 3)]
        change(service, service.store.add_experiment(slow_project, status="draft"), lifecycle.start)
        deliver(service)
        wait_until(lambda: len(slow.received) == WIDTH)
        # The pass is over, and the next one serves the others, with many messages of the slow ones before.
        told(service, project, endpoint.url)
        change(service, service.store.add_experiment(project, status="draft"), lifecycle.start)
        deliver(service)
        wait_until(lambda: types(endpoint) == ["experiment.started"])
        assert [one.attempts for webhook in waiting for one in deliveries(service, webhook)] == [0] * 7
        slow.answers.set()
        while len(slow.received) < len(waiting):
            deliver(service)
    wait_until(lambda: service.store.catalog.deliveries.pending_count() == 0)
    assert len({one.headers["webhook-id"] for one in slow.received}) == len(slow.received) == len(waiting)


def test_a_webhook_with_many_messages_leaves_room_for_others(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_messages, "_MOST_DUE", 2)
    busy = service.store.add_project()
    told(service, busy, endpoint.url)
    experiment = service.store.add_experiment(busy, status="draft")
    change(service, experiment, lifecycle.start, *[lifecycle.pause, lifecycle.resume] * 3)
    told(service, project, endpoint.url, events=["experiment.completed"])
    other = service.store.add_experiment(project, status="draft")
    change(service, other, lifecycle.start, lifecycle.complete)
    deliver(service)
    assert sorted(types(endpoint)) == ["experiment.completed", "experiment.paused", "experiment.started"]


def test_too_many_waiting_messages_disable_the_webhook(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_queue, "MOST_PENDING", 3)
    webhook, _ = told(service, project, endpoint.url)
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start, lifecycle.pause, lifecycle.resume)
    assert reread(service, webhook).disabled_reason is None
    change(service, experiment, lifecycle.pause)
    assert reread(service, webhook).disabled_reason == "queue_full"
    deliver(service)
    assert not endpoint.received
    assert {one.error for one in deliveries(service, webhook)} == {"the webhook was disabled before"}


def test_another_encryption_key_is_reported_in_the_delivery(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook, _ = told(service, project, endpoint.url)
    change(service, service.store.add_experiment(project, status="draft"), lifecycle.start)
    monkeypatch.setenv("TRUELIFT_SECRETS_KEY", Fernet.generate_key().decode())
    service.restart()
    deliver(service)
    (waiting,) = deliveries(service, webhook)
    assert (waiting.status, waiting.error) == (
        "pending",
        "the secret was encrypted by another key; rotate it",
    )


def test_an_error_of_one_webhook_hides_no_other_and_names_it(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, _ = told(service, project, "http://127.0.0.1:9/broken")
    told(service, project, endpoint.url)
    post = Sender.post

    def fail(sender: Sender, url: str, *rest: Any) -> int:
        if url.endswith("broken"):
            raise RuntimeError("a defect")
        return post(sender, url, *rest)

    monkeypatch.setattr(Sender, "post", fail)
    change(service, service.store.add_experiment(project, status="draft"), lifecycle.start)
    with pytest.raises(ExceptionGroup) as caught:
        deliver(service)
    assert [error.__notes__ for error in caught.value.exceptions] == [[f"webhook {broken.id}"]]
    assert types(endpoint) == ["experiment.started"]
