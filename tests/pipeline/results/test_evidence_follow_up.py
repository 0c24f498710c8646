"""Days since exposure: which are counted, and which are not over."""

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse import published as published_rollups
from tests.builders import STARTED, a_goal
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure

DAY = 24 * 60


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def running(store: WorkingStore, **overrides: object) -> tuple[Project, Experiment]:
    project = store.add_project()
    return project, store.add_experiment(project, **overrides)


def followed(
    store: WorkingStore, project: Project, experiment: Experiment, days: float
) -> tuple[list[list[int]], list[list[int]]]:
    """Those at risk and who converted, so many days after the start."""
    evidence = store.observe(experiment, project, now=STARTED + timedelta(days=days))
    assert evidence.follow_up is not None
    return evidence.follow_up.at_risk.tolist(), evidence.follow_up.conversions.tolist()


def test_visitors_are_at_risk_until_they_convert_or_their_days_are_not_over(store: WorkingStore) -> None:
    project, experiment = running(store)
    store.write(
        project,
        *(an_exposure(experiment, 0, f"early{number}") for number in range(3)),
        *(an_exposure(experiment, 1, f"late{number}", minute=2 * DAY) for number in range(2)),
        a_purchase("early0", minute=10),
        a_purchase("early1", minute=2 * DAY),
        a_purchase("late0", minute=3 * DAY),
        # Buying again is no first conversion.
        a_purchase("early0", minute=2 * DAY),
    )
    # The fourth day is under way: the late ones' second day is not over.
    assert followed(store, project, experiment, 3.2) == ([[3, 2], [2, 0], [2, 0]], [[1, 0], [0, 0], [1, 0]])
    assert followed(store, project, experiment, 4) == ([[3, 2], [2, 2], [2, 0]], [[1, 0], [0, 1], [1, 0]])


def test_days_are_those_of_the_projects_calendar(store: WorkingStore) -> None:
    project = store.add_project(reporting_timezone="Pacific/Auckland")
    experiment = store.add_experiment(project)
    # It started at 09:00 UTC, which is 22:00 there: three hours later is another day.
    store.write(project, an_exposure(experiment), a_purchase(minute=180))
    assert followed(store, project, experiment, 5) == ([[1, 0], [1, 0]], [[0, 0], [1, 0]])


def test_conversions_after_four_weeks_are_not_followed(store: WorkingStore) -> None:
    project, experiment = running(store)
    store.write(
        project,
        *(an_exposure(experiment, 0, f"v{number}") for number in range(2)),
        a_purchase("v0", minute=27 * DAY),
        a_purchase("v1", minute=28 * DAY),
    )
    at_risk, conversions = followed(store, project, experiment, 40)
    assert len(at_risk) == 28
    assert (at_risk[27], conversions[27]) == ([2, 0], [1, 0])


def test_a_completed_experiment_is_followed_to_the_day_before_it_ended(store: WorkingStore) -> None:
    project, experiment = running(store)
    store.write(project, an_exposure(experiment), a_purchase(minute=DAY))
    ended = store.change(experiment, status="completed", completed_at=STARTED + timedelta(days=1.1))
    assert followed(store, project, ended, 30) == ([], [])
    later = store.change(experiment, status="completed", completed_at=STARTED + timedelta(days=2.1))
    assert followed(store, project, later, 30) == ([[1, 0], [1, 0]], [[0, 0], [1, 0]])


def test_another_primary_goal_is_followed_from_the_first_event_on(store: WorkingStore) -> None:
    second = a_goal(id="goal_2", name="Signup", is_primary=False, config={"event_name": "signup"})
    project, experiment = running(store, goals=(a_goal(), second))
    store.write(
        project,
        an_exposure(experiment),
        a_purchase(minute=1),
        an_event("custom_event", event_name="signup", minute=DAY),
    )
    assert followed(store, project, experiment, 5)[1] == [[1, 0]]
    first, other = experiment.goals
    goals = (replace(first, is_primary=False), replace(other, is_primary=True))
    changed = store.change(experiment, goals=goals)
    assert followed(store, project, changed, 5)[1] == [[0, 0], [1, 0]]


def test_days_since_exposure_are_no_segment(store: WorkingStore) -> None:
    project, experiment = running(store)
    store.write(project, an_exposure(experiment, device_type="mobile"), a_purchase(minute=1))
    store.rollup.refresh(project.id)
    with store.warehouse.cursor() as cursor:
        assert aggregates.SINCE_EXPOSURE in set(aggregates.read_all(cursor, experiment.id)["dimension"])
        values = aggregates.read_values(cursor, experiment.id, variants=2)
        published = published_rollups.find(cursor, experiment.id)
    assert {dimension for dimension, _ in values} == {"day_of_week", "device_type"}
    assert published is not None
    assert aggregates.SINCE_EXPOSURE not in published.dimensions
    told = str(store.results.available_segments(experiment))
    assert aggregates.SINCE_EXPOSURE not in told


def test_damaged_sums_since_exposure_are_a_drift(store: WorkingStore) -> None:
    project, experiment = running(store)
    store.write(project, an_exposure(experiment), a_purchase(minute=1))
    store.rollup.refresh(project.id)
    with store.warehouse.transaction() as cursor:
        cursor.execute(
            f'DELETE FROM "aggregates_{experiment.id}" WHERE dimension = ?',  # noqa: S608 (an id of our own)
            [aggregates.SINCE_EXPOSURE],
        )
    assert store.rollup.rebuild(project.id).drifted == (experiment.id,)


def test_nobody_is_followed_of_an_experiment_without_visitors(store: WorkingStore) -> None:
    project, experiment = running(store)
    store.write(project, an_event("pageview"))
    assert followed(store, project, experiment, 5) == ([], [])
