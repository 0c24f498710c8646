"""Second looks: the visitors who reached what is changed, and their outcomes from that moment on."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.second_exposure import SecondExposure
from engine.errors import InvalidDesignError
from pipeline.results.filters import InvalidFilterError
from pipeline.results.second_exposures import SecondExposures
from pipeline.rollup.reached_visitors import with_reached_goal
from tests.builders import NOW, STARTED, a_goal, an_experiment
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

BASKET = SecondExposure(event="basket_seen")
DAY = 24 * 60


@pytest.fixture(scope="module")
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


@pytest.fixture
def basket(store: WorkingStore, project: Project) -> Experiment:
    return store.add_experiment(project, exposure=BASKET)


def reached(visitor: str, minute: float, **fields: Any) -> Any:
    return an_event("custom_event", visitor, minute=minute, event_name="basket_seen", **fields)


def second_look(store: WorkingStore, project: Project, experiment: Experiment, **at: Any) -> Report:
    store.rollup.refresh(project.id)
    looks = SecondExposures(store.warehouse, store.rollup, at_once=1_000)
    report = looks.report(experiment, project, now=at.get("now", NOW))
    assert report is not None
    return report


def numbers(report: Report) -> list[tuple[int, int]]:
    assert report.primary is not None
    return [(one.visitors, one.conversions) for one in report.primary.variants]


def test_visitors_count_once_they_reach_the_change_and_outcomes_from_then_on(
    store: WorkingStore, project: Project, basket: Experiment
) -> None:
    store.write(
        project,
        an_exposure(basket, 0, "never reached", minute=1),
        a_purchase("never reached", minute=2),
        an_exposure(basket, 0, "bought before", minute=1),
        a_purchase("bought before", minute=2),
        reached("bought before", 3),
        an_exposure(basket, 1, "bought after", minute=1),
        reached("bought after", 3),
        # The first time counts, at the moment of the assignment, too, and of one that was sent twice.
        reached("bought after", 9),
        a_purchase("bought after", minute=4),
        reached("reached before", 0),
        an_exposure(basket, 1, "reached before", minute=1),
        a_purchase("reached before", minute=2),
        an_exposure(basket, 1, "at once", minute=1),
        reached("at once", 1),
        # Left out of both looks.
        an_exposure(basket, 0, "several", minute=1),
        an_exposure(basket, 1, "several", minute=1),
        reached("several", 2),
    )
    second = second_look(store, project, basket)
    assert numbers(second) == [(1, 0), (2, 1)]
    assert numbers(store.results.report(basket, project, now=NOW)) == [(2, 2), (3, 2)]
    # A second time, and beside tables that are as they were.
    assert numbers(second_look(store, project, basket)) == numbers(second)
    with store.warehouse.cursor() as cursor:
        tables = cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert not [name for (name,) in tables if name.endswith("-reached")]


def test_days_are_those_on_which_the_change_was_reached(
    store: WorkingStore, project: Project, basket: Experiment
) -> None:
    store.write(project, an_exposure(basket, 0, "later"), reached("later", 2 * DAY))
    report = second_look(store, project, basket, now=STARTED + timedelta(days=4))
    assert report.primary is not None
    days = {str(day): found[basket.variants[0].id].visitors for day, found in report.primary.days}
    assert [day for day, visitors in days.items() if visitors] == ["2026-03-03"]


def test_a_variant_that_changes_who_reaches_it_is_an_alarm_of_the_second_look_alone(
    store: WorkingStore, project: Project, basket: Experiment
) -> None:
    rows = []
    for number in range(600):
        visitor, variant = f"v{number}", number % 2
        rows.append(an_exposure(basket, variant, visitor))
        if variant == 0 or number % 4 == 1:
            rows.append(reached(visitor, 1))
    store.write(project, *rows)

    def split(report: Report) -> str:
        return next(one.status for one in report.health if one.check == "sample_ratio")

    report = second_look(store, project, basket)
    assert numbers(report) == [(300, 0), (150, 0)]
    assert (split(report), report.is_exploratory, report.due_look) == ("alarm", True, None)
    assert split(store.results.report(basket, project, now=NOW)) == "ok"


def test_no_action_rests_on_a_second_look(store: WorkingStore, project: Project, basket: Experiment) -> None:
    rows = []
    for number in range(400):
        visitor, variant = f"v{number}", number % 2
        rows += [an_exposure(basket, variant, visitor), reached(visitor, 1)]
        if variant or number % 20 == 0:
            rows.append(a_purchase(visitor, minute=2))
    store.write(project, *rows)
    report = second_look(store, project, basket, now=STARTED + timedelta(days=60))
    assert report.primary is not None
    assert numbers(report) == [(200, 20), (200, 200)]
    assert report.primary.decision.reason == "exploratory"
    assert store.catalog.recorded_looks.of(basket.id) == ()


def test_a_night_keeps_the_second_look_and_says_where_there_is_none(
    store: WorkingStore, project: Project, basket: Experiment
) -> None:
    plain = store.add_experiment(project)
    store.write(project, an_exposure(basket, 0, "a"), reached("a", 1), an_exposure(plain, 0, "a"))
    for experiment, message in ((plain, "names no event"), (basket, "no night has counted them")):
        with pytest.raises(InvalidFilterError, match=message):
            store.nights.second_look(experiment, project, night=None, now=NOW)
    store.rollup.refresh(project.id)
    store.nights.keep([plain, basket], project, [NOW.date()], run_id=None, now=NOW)
    kept = store.nights.second_look(basket, project, night=None, now=NOW)
    assert (numbers(kept), kept.is_exploratory) == ([(1, 0), (0, 0)], True)
    assert store.nights.second_look(basket, project, night=NOW.date(), now=NOW) == kept
    with pytest.raises(InvalidFilterError, match="names no event"):
        store.nights.second_look(plain, project, night=NOW.date(), now=NOW)


def test_experiments_without_an_event_or_of_units_have_no_second_look(
    store: WorkingStore, project: Project
) -> None:
    looks = SecondExposures(store.warehouse, store.rollup, at_once=1_000)
    for fields in ({}, {"exposure": BASKET, "unit": {"attribute": "account"}}):
        experiment = store.add_experiment(project, **fields)
        store.write(project, an_exposure(experiment), reached("v1", 1))
        store.rollup.refresh(project.id)
        assert looks.report(experiment, project, now=NOW) is None


def test_an_exposure_leaves_room_for_the_goal_of_its_event() -> None:
    goals = tuple(a_goal(id=f"goal_{one}", name=f"{one}", is_primary=one == 0) for one in range(50))
    most = an_experiment(exposure=BASKET, goals=goals[:49])
    assert len(replace(most, exposure=None, goals=with_reached_goal(most, "basket_seen")).goals) == 50
    with pytest.raises(InvalidDesignError, match="at most 49 goals"):
        an_experiment(exposure=BASKET, goals=goals)
