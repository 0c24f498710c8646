"""Interactions of a night: which tests are compared, what is kept, and the check that shows it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from engine.analysis.results.report import HealthCheck
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results import nightly_interactions
from pipeline.results.nightly_interactions import read_interactions
from pipeline.store.warehouse import published
from tests.builders import NOW, a_goal
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

NIGHT = date(2026, 3, 2)
# Buyers of 200 visitors: each change alone adds, both together take away.
CLASH = ((80, 120), (120, 40))


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def fill(store: WorkingStore, project: Project, tests: Sequence[Experiment], buyers: Any = CLASH) -> None:
    """Expose 200 visitors in each pair of variants to both tests, some of whom buy."""
    rows = []
    for first, second, number in np.ndindex(2, 2, 200):
        visitor = f"v {first} {second} {number}"
        rows += [an_exposure(tests[0], first, visitor), an_exposure(tests[1], second, visitor)]
        if number < buyers[first][second]:
            rows.append(a_purchase(visitor, minute=5))
    store.write(project, *rows)


def check_of(store: WorkingStore, project: Project, experiment: Experiment) -> HealthCheck:
    report = store.results.report(experiment, project, now=NOW)
    return next(one for one in report.health if one.check == "interacting_tests")


def find(store: WorkingStore, project: Project) -> None:
    store.rollup.refresh(project.id)
    experiments = store.catalog.experiments.of_project(project.id)
    store.interactions.keep(experiments, project, NIGHT, now=NOW)


def test_tests_that_clash_are_told_at_both_until_a_night_finds_nothing(
    store: WorkingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = store.add_project()
    tests = [store.add_experiment(project, name=name) for name in ("Header", "Basket")]
    fill(store, project, tests)
    assert check_of(store, project, tests[0]).status == "not_applicable"
    # In several parts, as more visitors than fit into memory are.
    monkeypatch.setattr(nightly_interactions, "_AT_ONCE", 500)
    monkeypatch.setattr(nightly_interactions, "_SAMPLED", 300)
    find(store, project)
    for test in tests:
        check = check_of(store, project, test)
        assert check.status == "warning"
        assert "'Header' and 'Basket' should not run together" in check.message
        # The goal of either test is compared.
        told = check.details["interactions"]
        assert [one["visitors"] for one in told] == [800, 800]
        assert [(one["change_alone"], one["change_together"]) for one in told] == [
            (pytest.approx(0.5), pytest.approx(-2 / 3))
        ] * 2
    # A second time in the night changes nothing.
    before = check_of(store, project, tests[0])
    find(store, project)
    assert check_of(store, project, tests[0]) == before
    # Those who ended are left out: the other one has nobody to be compared with.
    ended = replace(tests[1], status="completed", completed_at=NOW - timedelta(minutes=1))
    store.interactions.keep([tests[0], ended], project, NIGHT, now=NOW)
    assert check_of(store, project, tests[0]).status == "not_applicable"
    with store.warehouse.cursor() as cursor:
        assert read_interactions(cursor, tests[1].id) is not None
    store.rollup.forget([tests[1].id])
    with store.warehouse.cursor() as cursor:
        assert read_interactions(cursor, tests[1].id) is None


def test_a_reading_of_some_visitors_has_no_interactions(store: WorkingStore) -> None:
    project = store.add_project()
    tests = [store.add_experiment(project, name=name) for name in ("Header", "Basket")]
    fill(store, project, tests, buyers=((60, 60), (60, 60)))
    find(store, project)
    assert check_of(store, project, tests[0]).status == "ok"
    assert store.observe(tests[0], project).interactions is not None
    assert store.observe(tests[0], project, {"country": "DE"}).interactions is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"unit": {"attribute": "account"}}, "it compares units other than visitors"),
        ({"goals": (a_goal(config={"event_name": "load", "measure": "quantile", "q": 0.5}),)}, "a quantile"),
    ],
)
def test_tests_that_cannot_be_compared_are_named_with_the_reason(
    store: WorkingStore, fields: dict[str, Any], reason: str
) -> None:
    project = store.add_project()
    plain, other = store.add_experiment(project, name="Plain"), store.add_experiment(project, **fields)
    store.write(project, an_exposure(plain), an_exposure(other))
    find(store, project)
    with store.warehouse.cursor() as cursor:
        own, others = (read_interactions(cursor, one.id) for one in (other, plain))
    assert own is not None
    assert others is not None
    assert reason in (own.unavailable or "")
    assert reason in others.left_out[other.name]


def test_a_test_from_sums_alone_is_named(store: WorkingStore) -> None:
    project = store.add_project()
    tests = [store.add_experiment(project, name=name) for name in ("Header", "Basket")]
    fill(store, project, tests)
    store.rollup.refresh(project.id)
    with store.rollup.publications.replacing([tests[1].id]), store.warehouse.transaction() as cursor:
        record = published.find(cursor, tests[1].id)
        assert record is not None
        published.publish(cursor, [record._replace(sums_from="warehouse")])
    store.interactions.keep(tests, project, NIGHT, now=NOW)
    check = check_of(store, project, tests[0])
    assert check.status == "not_applicable"
    assert "'Basket' is not available: only sums of its visitors are known, from warehouse." in check.message


def test_a_project_without_running_tests_keeps_nothing(store: WorkingStore) -> None:
    project = store.add_project()
    draft = store.add_experiment(project, status="draft")
    store.interactions.keep([draft], project, NIGHT, now=NOW)
    with store.warehouse.cursor() as cursor:
        assert read_interactions(cursor, draft.id) is None
