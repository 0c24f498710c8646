"""Messages of webhooks through a real store and endpoint: what is told, in which order, how signed."""

from datetime import timedelta
from functools import partial

import pytest
from standardwebhooks.webhooks import Webhook as Verifier

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.encryption_key import open_cipher
from pipeline.webhooks import webhook_messages
from pipeline.webhooks.webhook_messages import forget_old_deliveries
from pipeline.webhooks.webhook_requests import rotation_of
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.webhooks.receiving_endpoint import Endpoint
from tests.pipeline.webhooks.told_webhooks import change, deliver, deliveries, messages, reread, told, types
from tests.waiting import wait_until


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


def test_no_further_message_is_begun_once_the_service_stops(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_messages, "_WAIT_SECONDS", 0.0)
    told(service, project, endpoint.url)
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start, lifecycle.pause)
    endpoint.answers.clear()
    deliver(service)
    wait_until(lambda: endpoint.received)
    service.store.lanes.is_closing.set()
    endpoint.answers.set()
    service.restart()
    assert types(endpoint) == ["experiment.started"]
    deliver(service)
    wait_until(lambda: types(endpoint) == ["experiment.started", "experiment.paused"])


def test_a_slow_webhook_is_read_again_before_its_next_message(
    service: RestartableService, project: Project, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_messages, "_LANE_SECONDS", 0.0)
    webhook, _ = told(service, project, endpoint.url)
    experiment = service.store.add_experiment(project, status="draft")
    change(service, experiment, lifecycle.start, lifecycle.pause)
    deliver(service)
    assert types(endpoint) == ["experiment.started"]
    service.store.catalog.webhooks.delete(project.id, webhook.id, actor="test")
    deliver(service)
    assert types(endpoint) == ["experiment.started"]


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
