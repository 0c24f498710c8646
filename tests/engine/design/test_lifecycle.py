"""Every status met by every trigger."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.errors import TransitionError
from engine.vocabulary import Status
from tests.builders import NOW, STARTED, an_experiment

STATUSES = ("draft", "scheduled", "running", "paused", "completed", "archived")
TRIGGERS: dict[str, Callable[..., Experiment]] = {
    "start": lifecycle.start,
    "pause": lifecycle.pause,
    "resume": lifecycle.resume,
    "complete": lifecycle.complete,
    "archive": lifecycle.archive,
}
# The contract's table of states and transitions, row by row; what is not here is not allowed.
ALLOWED = {
    ("draft", "start"): "running",
    ("scheduled", "start"): "running",
    ("running", "pause"): "paused",
    ("paused", "resume"): "running",
    ("running", "complete"): "completed",
    ("paused", "complete"): "completed",
    ("completed", "archive"): "archived",
}
LATER = NOW + timedelta(hours=1)


@pytest.mark.parametrize("trigger", TRIGGERS)
@pytest.mark.parametrize("status", STATUSES)
def test_a_trigger_does_what_the_table_says_and_nothing_else(status: str, trigger: str) -> None:
    experiment = an_experiment(status=status)
    expected = ALLOWED.get((status, trigger))
    if expected:
        moved = TRIGGERS[trigger](experiment, now=LATER)
        assert (moved.status, moved.updated_at) == (expected, LATER)
    else:
        with pytest.raises(TransitionError) as error:
            TRIGGERS[trigger](experiment, now=LATER)
        assert error.value.code == "invalid_transition"


def test_every_trigger_has_its_effect_in_words() -> None:
    assert list(lifecycle.EFFECTS) == list(TRIGGERS)
    assert {status for status, trigger in ALLOWED if trigger == "start"} == {*lifecycle.UNSTARTED}


def test_a_refusal_says_from_where_it_would_be_possible() -> None:
    with pytest.raises(
        TransitionError, match="'Checkout button' is completed and cannot be resumed; it must be paused"
    ):
        lifecycle.resume(an_experiment(status="completed"), now=NOW)
    with pytest.raises(TransitionError, match="must be running or paused"):
        lifecycle.complete(an_experiment(), now=NOW)


def test_start_remembers_the_first_start_only() -> None:
    running = lifecycle.start(an_experiment(), now=NOW)
    again = lifecycle.resume(lifecycle.pause(running, now=LATER), now=LATER)
    assert running.started_at == again.started_at == NOW


def test_complete_freezes_the_moment() -> None:
    assert lifecycle.complete(an_experiment(status="running"), now=LATER).completed_at == LATER


def test_complete_never_lies_before_the_start() -> None:
    hasty = lifecycle.complete(an_experiment(status="running"), now=STARTED - timedelta(seconds=1))
    assert hasty.completed_at == hasty.started_at


def test_a_draft_with_a_start_ahead_is_scheduled_and_a_second_start_runs_it_now() -> None:
    draft = an_experiment(scheduled_start_at=LATER)
    scheduled = lifecycle.start(draft, now=NOW)
    assert (scheduled.status, scheduled.started_at) == ("scheduled", None)
    running = lifecycle.start(scheduled, now=NOW)
    assert (running.status, running.started_at) == ("running", NOW)


def test_a_draft_whose_start_has_come_runs_at_once() -> None:
    assert lifecycle.start(an_experiment(scheduled_start_at=NOW), now=NOW).status == "running"


@pytest.mark.parametrize(
    ("weights", "has_goal", "lacking"),
    [
        ((), True, {"variants"}),
        ((1,), True, {"variants"}),
        ((1, 1), False, {"goals"}),
        ((1,), False, {"variants", "goals"}),
    ],
)
def test_start_needs_two_variants_and_a_goal(
    weights: tuple[float, ...], lacking: set[str], *, has_goal: bool
) -> None:
    draft = an_experiment(weights=weights, **({} if has_goal else {"goals": ()}))
    with pytest.raises(TransitionError) as error:
        lifecycle.start(draft, now=NOW)
    assert error.value.code == "start_requirements_not_met"
    assert {problem.field for problem in error.value.problems} == lacking


def test_start_refuses_an_end_that_has_passed() -> None:
    with pytest.raises(TransitionError) as error:
        lifecycle.start(an_experiment(scheduled_end_at=datetime(2026, 1, 1, tzinfo=UTC)), now=NOW)
    assert [problem.field for problem in error.value.problems] == ["scheduled_end_at"]


@pytest.mark.parametrize("status", STATUSES)
def test_only_a_draft_can_be_deleted(status: str) -> None:
    experiment = an_experiment(status=status)
    if status == "draft":
        assert lifecycle.deletable(experiment) is experiment
    else:
        with pytest.raises(TransitionError) as error:
            lifecycle.deletable(experiment)
        assert error.value.code == "not_draft"


def test_what_can_be_done_is_listed_in_the_order_of_a_life() -> None:
    assert {status: lifecycle.triggers_in(status) for status in get_args(Status)} == {
        "draft": ["start"],
        "scheduled": ["start"],
        "running": ["pause", "complete"],
        "paused": ["resume", "complete"],
        "completed": ["archive"],
        "archived": [],
    }
