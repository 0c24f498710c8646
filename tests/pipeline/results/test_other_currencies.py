"""Orders in other currencies than a goal's: converted by the project's rates, or told to be left out."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from engine.analysis.results.report import HealthCheck, Report
from engine.design.experiment import Experiment
from engine.design.project import Project
from tests.builders import NOW, a_goal
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

REVENUE = a_goal(id="goal_r", name="Revenue", goal_type="revenue")
PURCHASES = a_goal(id="goal_b", name="Purchases", is_primary=False)
YEN = a_goal(id="goal_y", name="Yen", goal_type="revenue", is_primary=False, config={"currency": "JPY"})


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture
def project(store: WorkingStore) -> Project:
    return store.add_project()


@pytest.fixture
def experiment(store: WorkingStore, project: Project) -> Experiment:
    """An experiment with 40 visitors, of whom 20 ordered for 10.05 euros and one for 10 dollars."""
    added = store.add_experiment(project, goals=(REVENUE, PURCHASES, YEN))
    visitors = [an_exposure(added, number % 2, f"v{number}") for number in range(40)]
    orders = [a_purchase(f"v{number}", cents=1005, currency="EUR", minute=1) for number in range(20)]
    # Of others' visitors, and from before the exposure: no orders of this experiment.
    # Nor is one that names another goal.
    outside = [
        a_purchase("stranger", currency="SEK"),
        a_purchase("v1", currency="SEK", minute=-9),
        a_purchase("v1", currency="SEK", minute=1, goal_id="goal_other"),
    ]
    store.write(project, *visitors, *orders, a_purchase("v21", cents=1000, minute=1), *outside)
    return added


def with_settings(store: WorkingStore, project: Project, **settings: Any) -> Project:
    def decide(current: Project) -> Project:
        return replace(current, settings={**current.settings, **settings})

    return store.catalog.projects.change(project.account_id, project.id, decide, actor="test")


def report_of(store: WorkingStore, experiment: Experiment, project: Project) -> Report:
    return store.results.report(experiment, project, now=NOW)


def check_of(report: Report) -> HealthCheck:
    return next(check for check in report.health if check.check == "other_currencies")


def cents_of(report: Report) -> list[int]:
    return [sum(one.revenue_cents for one in goal.variants) for goal in report.goals]


def test_orders_without_a_rate_are_an_alarm_that_says_how_many(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    report = report_of(store, experiment, project)
    assert cents_of(report) == [1000, 1000, 0]
    # A conversion is one in any currency; an order of a revenue goal is not.
    assert [sum(one.conversions for one in goal.variants) for goal in report.goals] == [1, 21, 0]
    check = check_of(report)
    assert check.status == "alarm"
    assert check.details["goals"] == [
        {"goal_id": "goal_r", "orders": 21, "others": {"EUR": 20}},
        {"goal_id": "goal_y", "orders": 21, "others": {"EUR": 20, "USD": 1}},
    ]
    assert report.primary is not None
    assert report.primary.decision.recommendation == "fix_data"


def test_a_rate_counts_them_rounded_once_an_order(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    report_of(store, experiment, project)
    project = with_settings(store, project, exchange_rates={"EUR": 1.1, "JPY": 0.01})
    report = report_of(store, experiment, project)
    # 10.05 euros are 11.055 dollars, half to even 11.06 by the binary 1.1; a dollar is a hundred yen.
    assert cents_of(report) == [20 * 1106 + 1000, 20 * 1106 + 1000, 20 * 1106 + 1000]
    assert check_of(report).status == "ok"
    assert store.rollup.rebuild(project.id).drifted == ()


def test_a_running_test_keeps_its_rates_and_takes_missing_ones(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    project = with_settings(store, project, exchange_rates={"EUR": 2.0})
    before = cents_of(report_of(store, experiment, project))
    assert before[0] == 20 * 2010 + 1000
    project = with_settings(store, project, exchange_rates={"EUR": 3.0, "JPY": 0.01})
    report = report_of(store, experiment, project)
    assert cents_of(report) == [before[0], before[1], 20 * 2010 + 1000]
    assert store.rollup.rebuild(project.id).drifted == ()
    assert cents_of(report_of(store, experiment, project))[0] == before[0]
    # One that starts now has the new rates.
    later = store.add_experiment(project, goals=(REVENUE,))
    store.write(project, an_exposure(later, 0, "w1"), a_purchase("w1", cents=100, currency="EUR", minute=1))
    assert cents_of(report_of(store, later, project)) == [300]


def test_within_a_segment_nothing_is_said_of_them(
    store: WorkingStore, project: Project, experiment: Experiment
) -> None:
    evidence = store.observe(experiment, project, {"device_type": "mobile"})
    assert evidence.other_currencies is None


def test_money_of_a_custom_event_counts_like_an_order(store: WorkingStore, project: Project) -> None:
    values = a_goal(
        id="goal_v", name="Values", is_primary=False, config={"event_name": "purchase", "measure": "value"}
    )
    experiment = store.add_experiment(
        project, goals=(REVENUE, replace(YEN, config={"currency": "EUR"}), values)
    )
    sale = partial(an_event, "custom_event", minute=1, event_name="purchase")
    store.write(
        project,
        *(an_exposure(experiment, 0, f"v{number}") for number in range(3)),
        sale("v0", value=10.05, revenue_cents=1005, currency="USD"),
        sale("v1", value=8.0, revenue_cents=800, currency="EUR"),
        sale("v2", value=3.0),
    )
    report = report_of(store, experiment, project)
    # Money without a currency is of each goal's.
    assert cents_of(report)[:2] == [1005 + 300, 800 + 300]
    assert report.goals[2].variants[0].mean == pytest.approx((10.05 + 8 + 3) / 3)
    check = check_of(report)
    assert [one["others"] for one in check.details["goals"]] == [{"EUR": 1}, {"USD": 1}]
    project = with_settings(store, project, exchange_rates={"EUR": 1.25})
    assert cents_of(report_of(store, experiment, project))[:2] == [1005 + 1000 + 300, 804 + 800 + 300]
