"""Running time, over every order of pauses, resumptions and completion."""

from datetime import datetime, timedelta
from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.design import lifecycle
from engine.design.drafting import revise_experiment
from engine.design.experiment import Experiment
from engine.design.pauses import Pause
from engine.design.running_time import running_days, running_time
from engine.errors import InvalidDesignError, TransitionError
from tests.builders import NOW, STARTED, an_experiment
from tests.examples import examples

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
STEPS = {"pause": lifecycle.pause, "resume": lifecycle.resume, "complete": lifecycle.complete}
gaps = st.integers(-50, 500).map(lambda minutes: timedelta(minutes=minutes))
histories = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), gaps), max_size=12)


def lived(history: list[tuple[str, timedelta]]) -> tuple[Experiment, datetime, timedelta]:
    """Apply each step that the status allows; return the time after the last, and the time run by addition.

    Time is the latest that any clock has shown.
    """
    experiment, latest, ran = an_experiment(status="running"), STARTED, timedelta(0)
    for step, gap in history:
        now = latest + gap
        if experiment.status == "running":
            ran += max(gap, timedelta(0))
        latest = max(latest, now)
        try:
            experiment = STEPS[step](experiment, now=now)
        except TransitionError:
            continue
    return experiment, latest, ran


@examples(60, 300)
@given(histories)
def test_running_time_adds_up_the_time_between_pauses(history: list[tuple[str, timedelta]]) -> None:
    forward = [(step, abs(gap)) for step, gap in history]
    experiment, now, ran = lived(forward)
    assert running_time(experiment, until=now) == ran
    assert msgspec.json.decode(msgspec.json.encode(experiment), type=Experiment) == experiment


@examples(60, 300)
@given(histories, st.lists(gaps, min_size=2, max_size=2))
def test_running_time_is_never_negative_and_never_falls(
    history: list[tuple[str, timedelta]], until: list[timedelta]
) -> None:
    experiment, now, _ = lived(history)
    earlier, later = sorted(now + gap for gap in until)
    first, second = running_time(experiment, until=earlier), running_time(experiment, until=later)
    assert timedelta(0) <= first <= second <= first + (later - earlier)
    if experiment.status == "paused" and earlier >= now:
        assert first == second


@examples(60, 300)
@given(histories)
def test_a_clock_set_back_never_makes_a_negative_pause(history: list[tuple[str, timedelta]]) -> None:
    experiment, _, _ = lived(history)
    ended = [pause for pause in experiment.pauses if pause.ended_at is not None]
    assert all(pause.started_at <= pause.ended_at for pause in ended if pause.ended_at)
    assert [pause for pause in experiment.pauses if pause.ended_at is None] == (
        [experiment.pauses[-1]] if experiment.status == "paused" else []
    )


def test_a_pause_of_five_days_in_ten_leaves_five_running_days() -> None:
    paused = lifecycle.pause(an_experiment(status="running"), now=STARTED + 2 * DAY)
    assert running_days(paused, until=STARTED + 6 * DAY) == 2
    resumed = lifecycle.resume(paused, now=STARTED + 7 * DAY)
    assert running_days(resumed, until=STARTED + 10 * DAY) == 5
    completed = lifecycle.complete(resumed, now=STARTED + 10 * DAY)
    assert running_days(completed, until=STARTED + 90 * DAY) == 5
    assert running_days(completed, until=STARTED + 3 * DAY) == 2


def test_completing_a_paused_experiment_ends_its_pause() -> None:
    paused = lifecycle.pause(an_experiment(status="running"), now=NOW)
    completed = lifecycle.complete(paused, now=NOW + HOUR)
    assert completed.pauses == (Pause(started_at=NOW, ended_at=NOW + HOUR),)
    assert running_time(completed, until=NOW + DAY) == NOW - STARTED
    hasty = lifecycle.complete(paused, now=NOW - HOUR)
    assert hasty.completed_at == NOW


def test_a_draft_has_not_run() -> None:
    assert running_time(an_experiment(), until=NOW) == timedelta(0)


def test_a_document_without_pauses_loads_and_nothing_is_subtracted() -> None:
    document = msgspec.to_builtins(an_experiment(status="paused"))
    del document["pauses"]
    old = msgspec.convert(document, Experiment)
    assert old.pauses == ()
    resumed = lifecycle.resume(old, now=NOW)
    assert (resumed.pauses, running_time(resumed, until=NOW)) == ((), NOW - STARTED)


def test_a_caller_does_not_write_pauses() -> None:
    with pytest.raises(InvalidDesignError, match="pauses"):
        revise_experiment(an_experiment(), {"pauses": []}, now=NOW, new_id=partial(str))
