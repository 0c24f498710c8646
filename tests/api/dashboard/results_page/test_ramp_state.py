"""State of a ramp: the step that follows, and everything that it may wait for."""

from dataclasses import replace
from datetime import timedelta

import pytest

from api.dashboard.results_page.ramp_state import ramp_state
from engine.analysis.analyze import analyze
from engine.design.experiment import Experiment
from engine.design.lifecycle import complete, pause, start
from engine.design.ramp import Ramp, RampStep
from engine.design.ramp_steps import take_next_step
from tests.builders import NOW, an_experiment
from tests.observations import observed

_HOUR = timedelta(hours=1)
_RAMP = Ramp(steps=(RampStep(percent=5, hours=3), RampStep(percent=100, hours=24)))
EVEN = (500, 500)


def started() -> Experiment:
    return start(an_experiment(status="draft", started_at=None, ramp=_RAMP), now=NOW)


def last_step() -> Experiment:
    return take_next_step(started(), now=NOW)


def following(
    experiment: Experiment, *, hours: float, visitors: tuple[int, int] = EVEN, behind: float = 0
) -> str:
    """What follows so many hours after the start, with events counted up to `behind` hours before."""
    now = NOW + hours * _HOUR
    report = analyze(experiment, observed([*visitors], [50, 50], days=1), now=now)
    found = ramp_state(experiment, replace(report, as_of=now - behind * _HOUR), now=now)
    assert found is not None
    assert found.total == 2
    return found.following


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (0, "100% follows in 3 hours, unless a check alarms before."),
        (2.5, "100% follows in 30 minutes, unless a check alarms before."),
        (3, "100% follows within a minute, unless a check alarms before."),
    ],
)
def test_the_next_step_follows_in_time(hours: float, said: str) -> None:
    assert following(started(), hours=hours) == said


def test_a_step_waits_for_checks_counts_and_a_pause() -> None:
    alarmed = following(started(), hours=1, visitors=(500, 900))
    assert alarmed == "100% waits: the check “Sample ratio” alarms."
    uncounted = following(started(), hours=3, behind=2)
    assert uncounted == "100% waits: the events of its last hours are not counted yet."
    paused = following(pause(started(), now=NOW + _HOUR), hours=9)
    assert paused == "100% waits: the test is paused, with 2 hours to go."


def test_after_the_last_step_none_follows() -> None:
    assert following(last_step(), hours=1).startswith("It is the last step")
    assert following(last_step(), hours=24) == "The ramp is over, and guards no longer."
    ended = complete(started(), now=NOW + _HOUR)
    assert following(ended, hours=9) == "No step follows: the test has ended."


def test_a_test_without_a_ramp_or_before_its_start_has_no_state() -> None:
    for one in (an_experiment(), an_experiment(status="draft", started_at=None, ramp=_RAMP)):
        report = analyze(one, observed([*EVEN], [50, 50], days=1), now=NOW)
        assert ramp_state(one, report, now=NOW) is None
