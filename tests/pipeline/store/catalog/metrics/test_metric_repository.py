"""Metrics in the catalog: unique names, audited changes, and drafts that follow in one transaction."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.metrics.metric import Metric, draft_metric, revise_metric
from engine.errors import InvalidDesignError
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import MetricInUseError, NotFoundError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.metrics import metric_repository
from tests.builders import NOW, a_goal, an_experiment


def saved(catalog: Catalog, project_id: str, name: str = "Orders") -> Metric:
    fields = {"name": name, "goal_type": "custom_event", "config": {"event_name": "order"}}
    metric = draft_metric(fields, id=new_id("met"), project_id=project_id, now=NOW)
    return catalog.metrics.create(metric, actor="test")


def using(catalog: Catalog, metric: Metric, name: str) -> Experiment:
    goal = a_goal(config=metric.config, metric_id=metric.id, metric_version=1)
    experiment = an_experiment(
        id=new_id("exp"), project_id=metric.project_id, name=name, test_key=name, goals=(goal,)
    )
    return catalog.experiments.create(metric.project_id, lambda _: experiment, actor="test")


def changed(catalog: Catalog, metric: Metric, config: dict[str, Any]) -> Metric:
    revise = partial(revise_metric, fields={"config": config}, now=NOW)
    return catalog.metrics.change(metric.project_id, metric.id, revise, now=NOW, actor="ada")


def test_a_metric_is_read_as_it_was_saved(catalog: Catalog, project_id: str) -> None:
    metric = saved(catalog, project_id)
    assert catalog.metrics.get(project_id, metric.id) == metric
    assert catalog.metrics.page(project_id).items == [metric]
    with pytest.raises(NotFoundError):
        catalog.metrics.get("prj_other", metric.id)
    with pytest.raises(NotFoundError):
        saved(catalog, "prj_other")


def test_names_are_unique_in_a_project(catalog: Catalog, project_id: str) -> None:
    saved(catalog, project_id)
    other = saved(catalog, project_id, "Sign-ups")
    with pytest.raises(InvalidDesignError, match="'Orders' is another metric's"):
        saved(catalog, project_id)
    with pytest.raises(InvalidDesignError, match="'Orders' is another metric's"):
        catalog.metrics.change(
            project_id, other.id, lambda found: replace(found, name="Orders"), now=NOW, actor="test"
        )
    assert catalog.metrics.get(project_id, other.id) == other


def test_number_of_metrics_is_bounded(
    catalog: Catalog, project_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metric_repository, "MOST_METRICS", 1)
    saved(catalog, project_id)
    with pytest.raises(InvalidDesignError, match="the most that are possible"):
        saved(catalog, project_id, "Sign-ups")


def test_a_change_reaches_drafts_and_no_started_test(catalog: Catalog, project_id: str) -> None:
    metric = saved(catalog, project_id)
    draft, started = using(catalog, metric, "draft"), using(catalog, metric, "started")
    start = partial(lifecycle.start, now=NOW)
    started = catalog.experiments.change(project_id, started.id, start, actor="test")
    changed(catalog, metric, {"event_name": "paid"})
    (goal,) = catalog.experiments.get(project_id, draft.id).goals
    assert (goal.config, goal.metric_version) == ({"event_name": "paid"}, 2)
    assert catalog.experiments.get(project_id, started.id) == started
    entry = catalog.audit.of(draft.id)[-1]
    assert (entry.actor, set(entry.changes)) == ("ada", {"goals", "updated_at"})
    assert catalog.audit.of(metric.id)[-1].changes["version"] == [1, 2]


def test_a_change_that_a_draft_cannot_take_changes_nothing(catalog: Catalog, project_id: str) -> None:
    metric = saved(catalog, project_id)
    first, second = using(catalog, metric, "a"), using(catalog, metric, "b")
    with pytest.raises(InvalidDesignError, match=r"does not fit the draft experiment '[ab]'"):
        changed(catalog, metric, {"event_name": "paid", "guardrail_margin_percent": 1})
    assert catalog.metrics.get(project_id, metric.id) == metric
    assert [catalog.experiments.get(project_id, one.id) for one in (first, second)] == [first, second]


def test_a_metric_that_drafts_use_cannot_be_deleted(catalog: Catalog, project_id: str) -> None:
    metric = saved(catalog, project_id)
    draft = using(catalog, metric, "draft")
    with pytest.raises(MetricInUseError, match="'draft'"):
        catalog.metrics.delete(project_id, metric.id, actor="test")
    started = catalog.experiments.change(
        project_id, draft.id, partial(lifecycle.start, now=NOW), actor="test"
    )
    catalog.metrics.delete(project_id, metric.id, actor="test")
    assert catalog.audit.was_deleted(metric.id)
    assert catalog.experiments.get(project_id, draft.id) == started
    with pytest.raises(NotFoundError):
        catalog.metrics.delete(project_id, metric.id, actor="test")


def test_the_experiments_of_each_metric_are_listed(catalog: Catalog, project_id: str) -> None:
    orders, unused = saved(catalog, project_id), saved(catalog, project_id, "Sign-ups")
    draft, started = using(catalog, orders, "draft"), using(catalog, orders, "started")
    start = partial(lifecycle.start, now=NOW)
    catalog.experiments.change(project_id, started.id, start, actor="test")
    changed(catalog, orders, {"event_name": "paid"})
    users = catalog.metrics.users(project_id)
    assert unused.id not in users
    found = {
        one.id: (one.name, one.status, [goal.metric_version for goal in one.goals])
        for one in users[orders.id]
    }
    assert found == {draft.id: ("draft", "draft", [2]), started.id: ("started", "running", [1])}
    assert catalog.metrics.users("prj_other") == {}


def test_metrics_are_deleted_with_their_project(catalog: Catalog, account: Any, project_id: str) -> None:
    metric = saved(catalog, project_id)
    catalog.projects.delete(account.id, project_id, actor="test")
    with pytest.raises(NotFoundError):
        catalog.metrics.get(project_id, metric.id)
