"""Webhooks and their messages in the catalog: one transaction, two processes, and deletion."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.design.experiment import Experiment
from pipeline.clock import utc_now
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import InvalidRecordError, NotFoundError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.webhooks import webhook_repository
from pipeline.store.catalog.webhooks.announced_results import ObservedResults
from pipeline.store.catalog.webhooks.webhook_records import EVENTS, Webhook
from tests.builders import NOW, an_experiment

SHIP = ObservedResults(recommendation="ship", decision={"headline": "Ship it"}, alarms={})


@pytest.fixture
def webhook(catalog: Catalog, project_id: str) -> Webhook:
    return catalog.webhooks.create(a_webhook(project_id), actor="test")


@pytest.fixture
def experiment(catalog: Catalog, project_id: str) -> Experiment:
    made = an_experiment(id=new_id("exp"), project_id=project_id, status="running")
    return catalog.experiments.create(project_id, lambda _: made, actor="test")


def a_webhook(project_id: str) -> Webhook:
    return Webhook(
        id=new_id("whk"),
        project_id=project_id,
        url="https://shop.example/",
        description=None,
        events=EVENTS,
        secret=b"encrypted",
        created_at=NOW,
        updated_at=NOW,
    )


def test_a_webhook_is_read_as_it_was_saved(catalog: Catalog, webhook: Webhook) -> None:
    assert catalog.webhooks.get(webhook.project_id, webhook.id) == webhook
    assert catalog.webhooks.projects_told_of(["experiment.decision"]) == [webhook.project_id]
    with pytest.raises(NotFoundError):
        catalog.webhooks.get("prj_other", webhook.id)
    with pytest.raises(NotFoundError):
        catalog.webhooks.create(a_webhook("prj_other"), actor="test")


def test_the_number_of_a_project_is_limited(
    catalog: Catalog, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_repository, "MOST_WEBHOOKS", 1)
    with pytest.raises(InvalidRecordError, match="1 webhooks, the most"):
        catalog.webhooks.create(a_webhook(webhook.project_id), actor="test")


def test_of_two_processes_that_observe_a_change_one_tells_it(
    catalog: Catalog, webhook: Webhook, experiment: Experiment
) -> None:
    other = Catalog(**{name: getattr(catalog, name) for name in catalog.__slots__})
    for one in (catalog, other, catalog):
        one.announced_results.note(experiment, SHIP, now=NOW)
    (delivery,) = catalog.deliveries.page(webhook.id).items
    assert delivery.type == "experiment.decision"


def test_an_alarm_that_ended_is_told_again(
    catalog: Catalog, webhook: Webhook, experiment: Experiment
) -> None:
    first = ObservedResults(recommendation="insufficient_data", decision={}, alarms={"bots": "Many."})
    for seen in (first, replace(first, alarms={}), first, replace(first, alarms={"bots": "More."})):
        catalog.announced_results.note(experiment, seen, now=NOW)
    types = [delivery.type for delivery in catalog.deliveries.page(webhook.id).items]
    assert types == ["experiment.health_alarm"] * 2


def test_results_of_a_deleted_experiment_are_not_noted(
    catalog: Catalog, webhook: Webhook, experiment: Experiment
) -> None:
    catalog.experiments.delete(experiment.project_id, experiment.id, lambda one: one, actor="test")
    with pytest.raises(NotFoundError):
        catalog.announced_results.note(experiment, SHIP, now=NOW)
    assert not catalog.deliveries.page(webhook.id).items


def test_everything_goes_with_the_project(catalog: Catalog, webhook: Webhook, experiment: Experiment) -> None:
    catalog.announced_results.note(experiment, SHIP, now=NOW)
    assert catalog.deliveries.pending_count() == 1
    account_id = catalog.projects.find(webhook.project_id).account_id
    catalog.projects.delete(account_id, webhook.project_id, actor="test")
    assert catalog.deliveries.pending_count() == 0
    assert catalog.deliveries.due(now=utc_now() + timedelta(days=1), most=10) == []
    assert catalog.webhooks.projects_told_of(EVENTS) == []


def test_an_attempt_that_ends_after_the_webhook_was_disabled_changes_nothing(
    catalog: Catalog, webhook: Webhook, experiment: Experiment
) -> None:
    catalog.announced_results.note(experiment, SHIP, now=NOW)
    now = utc_now()
    ((_, _, (delivery,)),) = catalog.deliveries.due(now=now, most=10)
    disabled = replace(webhook, disabled_reason="on_request")
    catalog.webhooks.change(webhook.project_id, webhook.id, lambda _: disabled, now=now, actor="test")
    catalog.deliveries.note_failure(
        delivery, error="late", response_status=500, now=now, next_attempt_at=now, disable_as="failing"
    )
    (ended,) = catalog.deliveries.page(webhook.id).items
    assert (ended.status, ended.next_attempt_at) == ("failed", None)
    assert catalog.webhooks.get(webhook.project_id, webhook.id).disabled_reason == "on_request"
    assert catalog.webhooks.disabled_count() == 0
