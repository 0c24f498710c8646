"""Days on which outcomes are known that take time: of retained goals, and of goals with a window."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from engine.design.experiment import Experiment
from engine.local_days import epoch_days, local_day, local_day_starts
from pipeline.rollup.counting_rules import DAY_US

# A day of 24 hours may end so long after the local day that is as long in other weeks.
_LONGEST_SHIFT: Final = timedelta(hours=2)


def last_days(experiment: Experiment, goals: Sequence[str], as_of: datetime, timezone: str) -> dict[int, int]:
    """Map such goals, by their place in `goals`, to the last day whose visitors all have an outcome.

    Days are local days of first exposure since 1970. An outcome is known when the goal's days or window are
    over, whatever happened before, and nothing counts after the end of the experiment.
    """
    ended = as_of if experiment.completed_at is None else min(as_of, experiment.completed_at)
    today = epoch_days(local_day(ended - _LONGEST_SHIFT, timezone))
    return {
        goals.index(goal.id): today - goal.known_after - 1
        for goal in experiment.goals
        if goal.known_after is not None and goal.id in goals
    }


def observed_until(experiment: Experiment, as_of: datetime, timezone: str) -> Mapping[str, int]:
    """Map the ids of such goals to the microsecond since 1970 before which visitors have an outcome."""
    ids = [goal.id for goal in experiment.goals]
    found = last_days(experiment, ids, as_of, timezone)
    return {ids[place]: _start_of(day + 1, timezone) for place, day in found.items()}


def _start_of(day: int, timezone: str) -> int:
    """Return the microsecond since 1970 at which a local day begins."""
    noon = (day * 24 + 12) * 3_600_000_000
    starts, days = local_day_starts(noon - 2 * DAY_US, noon + 2 * DAY_US, timezone)
    return starts[days.index(day)]
