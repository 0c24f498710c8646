"""Messages of webhooks through a real store and a real endpoint: order, retries, restarts."""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from cryptography.fernet import Fernet
from standardwebhooks.webhooks import Webhook as Verifier

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.encryption_key import open_cipher
from pipeline.results.results import Results
from pipeline.store.catalog.webhooks import message_queue
from pipeline.store.catalog.webhooks.webhook_records import Webhook
from pipeline.webhooks import webhook_messages
from pipeline.webhooks.sending import Sender
from pipeline.webhooks.webhook_messages import (
    TRIED_FOR,
    WAITS,
    announce_changed_results,
    deliver_messages,
    forget_old_deliveries,
)
from pipeline.webhooks.webhook_requests import revise_webhook, rotation_of
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK, Endpoint, an_endpoint
from tests.pipeline.webhooks.told_webhooks import deliveries, told

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _this_machine_is_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUELIFT_WEBHOOK_NETWORKS", LOOPBACK)


@pytest.fixture
def service(service: RestartableService) -> RestartableService:
    # Messages are written at the time of the machine.
    service.now = utc_now()
    return service


@pytest.fixture
def project(service: RestartableService) -> Project:
    return service.store.add_project()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with an_endpoint() as opened:
        yield opened


def deliver(service: RestartableService, *, after: timedelta = SECOND) -> None:
    """Let the job run some time later."""
    service.now = max(service.now, utc_now()) + after
    deliver_messages(service.store)


def reread(service: RestartableService, webhook: Webhook) -> Webhook:
    return service.store.catalog.webhooks.get(webhook.project_id, webhook.id)


def messages(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [json.loads(received.body) for received in endpoint.received]


def types(endpoint: Endpoint) -> list[str]:
    return [message["type"] for message in messages(endpoint)]


def change(service: RestartableService, experiment: Experiment, *steps: Any) -> None:
    for step in steps:
        service.store.catalog.experiments.change(
            experiment.project_id, experiment.id, partial(step, now=utc_now()), actor="test"
        )


def test_each_step_of_the_lifecycle_is_told_in_order(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    webhook, secret = told(service, project, endpoint.url)
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start, lifecycle.pause, lifecycle.resume)
    change(service, experiment, lifecycle.complete, lifecycle.archive)
    deliver(service)
    assert types(endpoint) == [
        f"experiment.{step}" for step in ("started", "paused", "resumed", "completed", "archived")
    ]
    assert messages(endpoint)[1]["data"] == {
        "project_id": project.id,
        "experiment_id": experiment.id,
        "experiment_name": experiment.name,
        "test_key": experiment.test_key,
        "status": "paused",
        "previous_status": "running",
    }
    for received, delivery in zip(endpoint.received, deliveries(service, webhook), strict=True):
        Verifier(secret).verify(received.body, received.headers)
        assert received.headers["webhook-id"] == delivery.id
        assert (delivery.status, delivery.attempts, delivery.response_status) == ("delivered", 1, 204)
    assert reread(service, webhook).delivered_at is not None
    deliver(service)
    assert len(endpoint.received) == 5


def test_a_change_that_is_undone_is_not_told(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    told(service, project, endpoint.url)
    experiment = service.store.add_experiment(project, status="draft")

    def fail(_: Experiment) -> Experiment:
        raise ZeroDivisionError

    start = partial(lifecycle.start, now=utc_now())
    with pytest.raises(ZeroDivisionError):
        service.store.catalog.experiments.change_in_steps(
            project.id, experiment.id, [("test", start), ("test", fail)]
        )
    deliver(service)
    assert service.current(experiment).status == "draft"
    assert not endpoint.received


def test_only_chosen_events_of_the_own_project_are_told(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    told(service, project, endpoint.url, events=["experiment.completed"])
    told(service, service.store.add_project(), endpoint.url)
    told(service, project, endpoint.url, enabled=False)
    experiment = service.store.add_experiment(project, status="draft", name="Größe 🛒")
    change(service, experiment, lifecycle.start, lifecycle.complete)
    service.store.change(experiment, name="Renamed")
    deliver(service)
    assert types(endpoint) == ["experiment.completed"]
    assert messages(endpoint)[0]["data"]["experiment_name"] == "Größe 🛒"


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


def test_messages_are_signed_by_both_secrets_until_the_grace_period_ends(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    webhook, former = told(service, project, endpoint.url)
    cipher = open_cipher(service.store.settings)
    rotate, secret = rotation_of({"grace_period_hours": 1}, cipher, now=utc_now())
    service.store.catalog.webhooks.change(project.id, webhook.id, rotate, now=utc_now(), actor="test")
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start)
    deliver(service)
    (both,) = endpoint.received
    for one in (former, secret):
        Verifier(one).verify(both.body, both.headers)
    change(service, experiment, lifecycle.pause)
    deliver(service, after=timedelta(hours=1))
    assert both.headers["webhook-signature"].count("v1,") == 2
    assert endpoint.received[1].headers["webhook-signature"].count("v1,") == 1


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


def test_no_message_is_begun_once_the_pass_is_over(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(service, project, endpoint.url)
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start, lifecycle.pause)
    monkeypatch.setattr(webhook_messages, "_PASS_SECONDS", 0.0)
    deliver(service)
    assert not endpoint.received
    monkeypatch.undo()
    monkeypatch.setenv("TRUELIFT_WEBHOOK_NETWORKS", LOOPBACK)
    deliver(service)
    assert types(endpoint) == ["experiment.started", "experiment.paused"]


def test_deliveries_are_forgotten_a_month_after_their_end(
    service: RestartableService, project: Project, endpoint: Endpoint
) -> None:
    webhook, _ = told(service, project, endpoint.url)
    change(service, service.store.add_experiment(project, status="draft"), lifecycle.start)
    deliver(service)
    for days, left in ((29, 1), (2, 0)):
        service.now += timedelta(days=days)
        forget_old_deliveries(service.store)
        assert len(deliveries(service, webhook)) == left


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


def test_results_of_one_project_that_cannot_be_read_hide_no_other_project(
    service: RestartableService, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    for _ in range(2):
        one = service.store.add_project()
        told(service, one, "http://127.0.0.1:9/", events=["experiment.decision"])
        service.store.add_experiment(one)

    def fail(_: object, experiment: Experiment, *_args: Any, **_options: Any) -> None:
        tried.append(experiment.project_id)
        raise RuntimeError("a defect")

    monkeypatch.setattr(Results, "report", fail)
    with pytest.raises(ExceptionGroup, match="2 of 2 failed"):
        announce_changed_results(service.store)
    assert len(set(tried)) == 2
