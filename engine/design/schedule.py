"""Whether it is time for an experiment to start or to end by itself."""

from datetime import datetime

from engine.design.experiment import Experiment
from engine.design.vocabulary import Status

# In these statuses an experiment counts visitors, and can end.
OPEN: tuple[Status, ...] = ("running", "paused")


def start_is_due(experiment: Experiment, *, now: datetime) -> bool:
    """Whether a scheduled experiment's start has come; never once its end has passed as well."""
    start = experiment.scheduled_start_at
    if experiment.status != "scheduled" or start is None or start > now:
        return False
    return experiment.scheduled_end_at is None or experiment.scheduled_end_at > now


def end_is_due(experiment: Experiment, *, now: datetime) -> bool:
    """Whether the scheduled end of an experiment that runs or is paused has come."""
    end = experiment.scheduled_end_at
    return experiment.status in OPEN and end is not None and end <= now


def visitor_limit_is_reached(experiment: Experiment, visitors: int) -> bool:
    """Whether as many visitors are counted as an experiment that runs or is paused was to have."""
    limit = experiment.stop_conditions.visitor_limit
    return experiment.status in OPEN and limit is not None and visitors >= limit


def planned_end(experiment: Experiment) -> int | None:
    """The visitors at whom the last of its looks is taken; None for an experiment without a last look."""
    statistics = experiment.statistics
    return statistics.planned_sample if statistics.sequential == "group_sequential" else None


def planned_end_is_reached(experiment: Experiment, visitors: int) -> bool:
    """The same of the sample at which the last look is taken."""
    end = planned_end(experiment)
    return experiment.status in OPEN and end is not None and visitors >= end


def conversion_limit_is_reached(experiment: Experiment, conversions: int) -> bool:
    """The same of visitors who reached the primary goal."""
    limit = experiment.stop_conditions.conversion_limit
    return experiment.status in OPEN and limit is not None and conversions >= limit
