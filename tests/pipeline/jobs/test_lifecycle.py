from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from engine.design import lifecycle
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment, StopConditions
from engine.design.project import Project
from pipeline.jobs.lifecycle import (
    CONVERSION_LIMIT,
    VISITOR_LIMIT,
    complete_at,
    complete_at_plan,
    complete_ended,
    complete_with_winner,
    start_scheduled,
)
from pipeline.store.catalog.ids import new_id
from pipeline.store.event_columns import EventRow
from tests.builders import NOW, STARTED, a_goal
from tests.engine.design.test_holdout import a_holdout
from tests.pipeline.working_store import WorkingStore, a_purchase, an_event, an_exposure, now_of

DAY = 24 * 60
LATER = NOW + timedelta(seconds=30)
# No plan is reached, and no winner shipped, before.
SECOND_WEEK = STARTED + timedelta(days=7)


@pytest.fixture
def store(module_store: WorkingStore) -> WorkingStore:
    return module_store


def at_limits(store: WorkingStore, *, now: datetime = NOW) -> None:
    for limit in (VISITOR_LIMIT, CONVERSION_LIMIT):
        complete_at(limit, store.catalog, store.results, now=now)
    complete_at_plan(store.catalog, store.results, now=now)


def last_change(store: WorkingStore, experiment: Experiment) -> tuple[str, Any]:
    entry = store.catalog.audit.of(experiment.id)[-1]
    return entry.actor, entry.changes["status"]


def with_limits(store: WorkingStore, project: Project, **limits: Any) -> Experiment:
    return store.add_experiment(project, stop_conditions=StopConditions(**limits))


def test_scheduled_experiment_starts_at_its_time(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project, status="scheduled", scheduled_start_at=NOW)
    start_scheduled(store.catalog, now=NOW - timedelta(seconds=1))
    assert now_of(store, experiment).status == "scheduled"
    start_scheduled(store.catalog, now=LATER)
    assert (now_of(store, experiment).status, now_of(store, experiment).started_at) == ("running", LATER)
    assert last_change(store, experiment) == ("scheduled start", ["scheduled", "running"])


@pytest.mark.parametrize("status", ["running", "paused"])
def test_experiment_ends_at_its_scheduled_end(store: WorkingStore, project: Project, status: str) -> None:
    experiment = store.add_experiment(project, status=status, scheduled_end_at=NOW)
    complete_ended(store.catalog, now=NOW - timedelta(seconds=1))
    assert now_of(store, experiment).status == status
    complete_ended(store.catalog, now=LATER)
    assert (now_of(store, experiment).status, now_of(store, experiment).completed_at) == ("completed", LATER)
    assert last_change(store, experiment) == ("scheduled end", [status, "completed"])


def test_experiment_completes_with_its_last_visitor(store: WorkingStore, project: Project) -> None:
    experiment = with_limits(store, project, visitor_limit=2)
    other = with_limits(store, project, visitor_limit=2)
    store.write(project, an_exposure(experiment), an_exposure(other))
    at_limits(store)
    assert now_of(store, experiment).status == "running"
    store.write(project, an_exposure(experiment, 1, "v2"))
    at_limits(store)
    assert now_of(store, experiment).status == "completed"
    assert now_of(store, other).status == "running"
    assert last_change(store, experiment) == ("visitor limit", ["running", "completed"])


def test_planned_sample_of_a_group_sequential_test_is_its_end(store: WorkingStore, project: Project) -> None:
    ends, goes_on = (
        store.add_experiment(project, statistics=Statistics(sequential=method, planned_sample=100))
        for method in ("group_sequential", "always_valid")
    )
    for experiment in (ends, goes_on):
        rows = [an_exposure(experiment, number % 2, f"v{number}") for number in range(100)]
        store.write(project, *rows[:-1])
        at_limits(store, now=SECOND_WEEK)
        assert now_of(store, experiment).status == "running"
        store.write(project, rows[-1])
        at_limits(store)
        assert now_of(store, experiment).status == "running"
    at_limits(store, now=SECOND_WEEK)
    assert last_change(store, ends) == ("planned sample", ["running", "completed"])
    assert [look.is_at_plan for look in store.catalog.recorded_looks.of(ends.id)] == [False, True]
    assert now_of(store, goes_on).status == "running"


def test_visitors_who_do_not_count_reach_no_limit(store: WorkingStore, project: Project) -> None:
    experiment = with_limits(store, project, visitor_limit=2)
    store.write(
        project,
        an_exposure(experiment),
        an_exposure(experiment, visitor="bot", is_bot=True),
        an_exposure(experiment, visitor="both"),
        an_exposure(experiment, 1, "both"),
    )
    at_limits(store)
    assert now_of(store, experiment).status == "running"


def test_conversions_of_the_primary_goal_reach_their_limit(store: WorkingStore, project: Project) -> None:
    signup = a_goal(id="goal_0", name="Signup", is_primary=False, config={"event_name": "signup"})
    limits = StopConditions(conversion_limit=2)
    experiment = store.add_experiment(project, goals=(signup, a_goal()), stop_conditions=limits)
    for visitor in ("v1", "v2", "v3"):
        store.write(
            project,
            an_exposure(experiment, visitor=visitor),
            an_event("custom_event", visitor, event_name="signup", minute=1),
        )
    store.write(project, a_purchase("v1", minute=1), a_purchase("v1", minute=2))
    at_limits(store)
    assert now_of(store, experiment).status == "running"
    store.write(project, a_purchase("v2", minute=1))
    at_limits(store)
    assert last_change(store, experiment) == ("conversion limit", ["running", "completed"])


def test_nothing_moves_without_a_reason(store: WorkingStore, project: Project) -> None:
    experiments = [
        store.add_experiment(project, status=status)
        for status in ("draft", "scheduled", "running", "paused", "completed", "archived")
    ]
    start_scheduled(store.catalog, now=NOW)
    complete_ended(store.catalog, now=NOW)
    at_limits(store)
    assert [now_of(store, one) for one in experiments] == experiments
    assert all(len(store.catalog.audit.of(one.id)) == 1 for one in experiments)


def test_whoever_was_faster_wins(store: WorkingStore, project: Project) -> None:
    experiment = store.add_experiment(project, scheduled_end_at=NOW)
    store.catalog.experiments.change(
        project.id, experiment.id, partial(lifecycle.complete, now=NOW), actor="key_1"
    )
    complete_ended(store.catalog, now=LATER)
    assert last_change(store, experiment)[0] == "key_1"


def test_experiment_that_cannot_be_worked_on_keeps_no_other_waiting(
    store: WorkingStore, project: Project
) -> None:
    broken = with_limits(store, project, visitor_limit=1)
    sound = with_limits(store, project, visitor_limit=1)
    store.write(project, an_exposure(broken), an_exposure(sound))
    store.rollup.refresh(project.id)
    with store.warehouse.cursor() as cursor:
        # As a damaged file would.
        cursor.execute(f'DROP TABLE "aggregates_{broken.id}"')
    with pytest.raises(ExceptionGroup) as caught:
        complete_at(VISITOR_LIMIT, store.catalog, store.results, now=NOW)
    (failure,) = caught.value.exceptions
    assert failure.__notes__ == [f"experiment {broken.id}"]
    assert now_of(store, sound).status == "completed"
    assert now_of(store, broken).status == "running"


def a_winner_among(experiment: Experiment, *, buyers: tuple[int, int]) -> list[EventRow]:
    """200 visitors an arm, of whom so many buy."""
    return [
        event
        for arm, bought in enumerate(buyers)
        for i in range(200)
        for event in (
            an_exposure(experiment, arm, f"{arm}-{i}"),
            *([a_purchase(f"{arm}-{i}", minute=1)] if i < bought else []),
        )
    ]


def test_experiment_that_is_to_completes_with_a_winner(store: WorkingStore, project: Project) -> None:
    asked, unasked = with_limits(store, project, auto_stop_on_winner=True), with_limits(store, project)
    for experiment in (asked, unasked):
        store.write(project, *a_winner_among(experiment, buyers=(40, 160)))
    complete_with_winner(store.catalog, store.results, now=SECOND_WEEK)
    assert (now_of(store, asked).status, now_of(store, asked).completed_at) == ("completed", SECOND_WEEK)
    assert last_change(store, asked) == ("auto stop: var_1 wins", ["running", "completed"])
    assert now_of(store, unasked).status == "running"
    (look,) = store.catalog.recorded_looks.of(asked.id)
    assert (look.recommendation, look.variant_id) == ("ship", "var_1")


def test_winner_of_a_single_look_completes_nothing(store: WorkingStore, project: Project) -> None:
    experiment = with_limits(store, project, auto_stop_on_winner=True)
    store.write(project, *a_winner_among(experiment, buyers=(80, 101)))
    report = store.results.report(experiment, project, now=SECOND_WEEK)
    assert report.goals[0].variants[1].status == "winner"
    complete_with_winner(store.catalog, store.results, now=SECOND_WEEK)
    assert now_of(store, experiment).status == "running"


def test_winner_with_open_outcomes_pauses_and_completes_once_they_are_known(
    store: WorkingStore, project: Project
) -> None:
    back = {"event_name": "purchase", "measure": "retained", "from_day": 2}
    stop = StopConditions(auto_stop_on_winner=True)
    experiment = store.add_experiment(project, goals=(a_goal(config=back),), stop_conditions=stop)
    events = []
    for arm, returning in ((0, 2), (1, 8)):
        for i in range(200):
            who, came = f"{arm}-{i}", (i % 2) * 5 * DAY
            events.append(an_exposure(experiment, arm, who, minute=came))
            if i // 2 % 10 < returning:
                at = came + 2 * DAY + 60
                events.append(an_event("custom_event", who, event_name="purchase", minute=at))
    store.write(project, *events)
    # Half of the visitors came on day 5, and have not been away for three days yet.
    complete_with_winner(store.catalog, store.results, now=SECOND_WEEK)
    assert last_change(store, experiment) == ("auto stop: var_1 wins", ["running", "paused"])
    complete_with_winner(store.catalog, store.results, now=SECOND_WEEK + timedelta(days=1))
    assert now_of(store, experiment).status == "paused"
    later = SECOND_WEEK + timedelta(days=3)
    complete_with_winner(store.catalog, store.results, now=later)
    assert last_change(store, experiment) == ("auto stop: var_1 wins", ["paused", "completed"])
    assert store.observe(now_of(store, experiment), project, now=later).trials.tolist() == [[200, 200]]


def test_paused_experiment_waits_with_its_winner(store: WorkingStore, project: Project) -> None:
    stop = StopConditions(auto_stop_on_winner=True)
    experiment = store.add_experiment(project, status="paused", stop_conditions=stop)
    store.write(project, *a_winner_among(experiment, buyers=(40, 160)))
    complete_with_winner(store.catalog, store.results, now=SECOND_WEEK)
    assert now_of(store, experiment).status == "paused"


def test_a_holdout_begins_and_ends_at_its_times(store: WorkingStore) -> None:
    project, begins, ends = store.add_project(), NOW + timedelta(days=1), NOW + timedelta(days=30)
    holdout = replace(
        a_holdout(**{"from": begins, "to": ends}), id=new_id("hld"), project_id=project.id, test_key="hld"
    )
    store.catalog.holdouts.create(project.id, lambda _: holdout, actor="test")
    start_scheduled(store.catalog, now=NOW)
    assert store.catalog.holdouts.get(project.id, holdout.id).status == "scheduled"
    start_scheduled(store.catalog, now=begins)
    complete_ended(store.catalog, now=begins)
    running = store.catalog.holdouts.get(project.id, holdout.id)
    assert (running.status, running.started_at) == ("running", begins)
    complete_ended(store.catalog, now=ends)
    assert last_change(store, holdout) == ("scheduled end", ["running", "completed"])
