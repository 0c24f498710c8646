"""State of a ramp on the page of an experiment: its step, what follows and when, and what it waits for."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from api.dashboard.formats import check_label
from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN
from engine.design.ramp_steps import coming_steps, current_step, is_over, next_step_is_due

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RampState:
    """The number of the step that a ramp is at, of so many, its percent, and a sentence on what follows."""

    number: int
    total: int
    percent: int
    following: str


def ramp_state(experiment: Experiment, report: Report, *, now: datetime) -> RampState | None:
    """Tell where a ramp is by the report of all visitors; None without one, and before the start."""
    step = current_step(experiment)
    if step is None or experiment.ramp is None:
        return None
    return RampState(
        number=len(experiment.ramp_steps),
        total=len(experiment.ramp.steps),
        percent=step.percent,
        following=_following(experiment, report, now),
    )


def _following(experiment: Experiment, report: Report, now: datetime) -> str:
    if experiment.status not in OPEN:
        return "No step follows: the test has ended."
    if is_over(experiment, now=now):
        return "The ramp is over, and guards no longer."
    coming = coming_steps(experiment, now=now)
    if not coming:
        return "It is the last step: the ramp acts on harm, and no step follows."
    wait, percent = coming[0]
    if reasons := list(_reasons(experiment, report, now, wait)):
        return f"{percent}% waits: {'; '.join(reasons)}."
    when = f"in {_words(wait)}" if wait else "within a minute"
    return f"{percent}% follows {when}, unless a check alarms before."


def _reasons(experiment: Experiment, report: Report, now: datetime, wait: timedelta) -> Iterator[str]:
    if experiment.status == "paused":
        yield f"the test is paused{f', with {_words(wait)} to go' if wait else ''}"
    for check in report.health:
        if check.status == "alarm":
            yield f"the check “{check_label(check.check)}” alarms"
    is_counted = report.as_of is not None and next_step_is_due(
        experiment, counted_until=report.as_of, now=now
    )
    if experiment.status == "running" and not wait and not is_counted:
        yield "the events of its last hours are not counted yet"


def _words(wait: timedelta) -> str:
    for size, unit in ((_DAY, "day"), (_HOUR, "hour")):
        if wait >= 2 * size:
            return f"{wait / size:.0f} {unit}s"
    minutes = max(1, round(wait / timedelta(minutes=1)))
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
