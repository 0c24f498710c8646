"""Running time of an experiment: the time since its start, without pauses."""

from datetime import datetime, timedelta

from engine.design.experiment import Experiment

_NONE = timedelta(0)


def running_time(experiment: Experiment, *, until: datetime) -> timedelta:
    """Return the time from the start to `until`, or to the completion if earlier, without pauses.

    Zero before the start. A pause from before pauses were recorded is not known and counts as running.
    """
    start = experiment.started_at
    if start is None:
        return _NONE
    end = min(until, experiment.completed_at or until)
    paused = sum(
        (
            max(_NONE, min(pause.ended_at or end, end) - max(pause.started_at, start))
            for pause in experiment.pauses
        ),
        start=_NONE,
    )
    return max(_NONE, end - start - paused)


def running_days(experiment: Experiment, *, until: datetime) -> float:
    """Return the running time in days of 24 hours, with fractions."""
    return running_time(experiment, until=until) / timedelta(days=1)
