"""Lifecycle of an experiment: transitions between statuses, and the conditions of automatic ones."""

from dataclasses import replace
from datetime import datetime

from engine.design.exclusion.group_slots import released
from engine.design.experiment import Experiment
from engine.design.invariants import start_requirements
from engine.design.pauses import with_pause, with_pause_ended
from engine.design.ramp_steps import with_first_step
from engine.errors import Problem, TransitionError
from engine.vocabulary import LifecycleTrigger, Status

TRANSITIONS: dict[tuple[Status, LifecycleTrigger], Status] = {
    # A draft whose start lies ahead waits as scheduled; a second start does not wait.
    ("draft", "start"): "running",
    ("scheduled", "start"): "running",
    ("running", "pause"): "paused",
    ("paused", "resume"): "running",
    ("running", "complete"): "completed",
    ("paused", "complete"): "completed",
    ("completed", "archive"): "archived",
}
# Statuses before the start, of which there are no results.
UNSTARTED: tuple[Status, ...] = ("draft", "scheduled")
# Statuses in which an experiment counts visitors and can end.
OPEN: tuple[Status, ...] = ("running", "paused")
STARTED: tuple[Status, ...] = (*OPEN, "completed", "archived")
# What each step does.
EFFECTS: dict[LifecycleTrigger, str] = {
    "start": "Visitors are assigned at once; of a draft, from its scheduled start.",
    "pause": "New visitors see the original. Those assigned before keep their variant.",
    "resume": "New visitors are assigned again.",
    "complete": "The experiment ends for good, and all visitors see the original. Its results stay.",
    "archive": "The experiment leaves the list of current ones. Its results stay.",
}
_PARTICIPLES: dict[LifecycleTrigger, str] = {
    "start": "started",
    "pause": "paused",
    "resume": "resumed",
    "complete": "completed",
    "archive": "archived",
}


def triggers_in(status: Status) -> list[LifecycleTrigger]:
    """List what can be done to an experiment in a status, in the order of its life."""
    return [trigger for before, trigger in TRANSITIONS if before == status]


def start(experiment: Experiment, *, now: datetime) -> Experiment:
    """Start an experiment, or schedule a draft whose `scheduled_start_at` is in the future.

    Raises TransitionError `invalid_transition`, or `start_requirements_not_met` with every problem.
    """
    status = _next_status(experiment, "start")
    if problems := lacks_to_start(experiment, now):
        raise TransitionError(
            "start_requirements_not_met", f"'{experiment.name}' is not ready to start", problems
        )
    ahead = experiment.scheduled_start_at is not None and experiment.scheduled_start_at > now
    if experiment.status == "draft" and ahead:
        return replace(experiment, status="scheduled", updated_at=now)
    begun = with_first_step(experiment, now=experiment.started_at or now)
    return replace(begun, status=status, started_at=experiment.started_at or now, updated_at=now)


def start_as_scheduled(experiment: Experiment, *, now: datetime) -> Experiment:
    """Start an experiment as of its scheduled start, which has passed. Raises TransitionError."""
    return replace(start(experiment, now=experiment.scheduled_start_at or now), updated_at=now)


def complete_as_scheduled(experiment: Experiment, *, now: datetime) -> Experiment:
    """Complete an experiment as of its scheduled end, which has passed. Raises TransitionError."""
    return replace(complete(experiment, now=experiment.scheduled_end_at or now), updated_at=now)


def pause(experiment: Experiment, *, now: datetime) -> Experiment:
    """Pause: assign no new visitors; the others keep their variant. Raises TransitionError."""
    status = _next_status(experiment, "pause")
    # Clocks of two machines may disagree by more than the experiment ran.
    pauses = with_pause(experiment.pauses, now=max(now, experiment.started_at or now))
    return replace(experiment, status=status, pauses=pauses, updated_at=now)


def resume(experiment: Experiment, *, now: datetime) -> Experiment:
    """Resume: assign new visitors again. Raises TransitionError `invalid_transition`."""
    status = _next_status(experiment, "resume")
    pauses = with_pause_ended(experiment.pauses, now=now)
    return replace(experiment, status=status, pauses=pauses, updated_at=now)


def complete(experiment: Experiment, *, now: datetime) -> Experiment:
    """Complete: freeze the results as of `now`. Raises TransitionError `invalid_transition`."""
    status = _next_status(experiment, "complete")
    pauses = with_pause_ended(experiment.pauses, now=now)
    last_pause = pauses[-1].ended_at if pauses else None
    ended = max(now, experiment.started_at or now, last_pause or now)
    return replace(
        experiment,
        status=status,
        completed_at=ended,
        pauses=pauses,
        group_slots=released(experiment.group_slots, now=ended),
        updated_at=now,
    )


def archive(experiment: Experiment, *, now: datetime) -> Experiment:
    """Archive: hide from the default listing; results stay. Raises TransitionError."""
    return replace(experiment, status=_next_status(experiment, "archive"), updated_at=now)


def deletable(experiment: Experiment) -> Experiment:
    """Return a draft, which may be deleted; raises TransitionError `not_draft` for any other status."""
    if experiment.status != "draft":
        raise TransitionError(
            "not_draft", f"'{experiment.name}' is {experiment.status}; only a draft can be deleted"
        )
    return experiment


def _next_status(experiment: Experiment, trigger: LifecycleTrigger) -> Status:
    status = TRANSITIONS.get((experiment.status, trigger))
    if status is None:
        allowed = " or ".join(before for before, possible in TRANSITIONS if possible == trigger)
        participle = _PARTICIPLES[trigger]
        raise TransitionError(
            "invalid_transition",
            f"'{experiment.name}' is {experiment.status} and cannot be {participle}; it must be {allowed}",
        )
    return status


def lacks_to_start(experiment: Experiment, now: datetime) -> list[Problem]:
    """List what an experiment needs before it can start."""
    parts = {"variants": experiment.variants, "goals": experiment.goals}
    problems = list(start_requirements(parts))
    end = experiment.scheduled_end_at
    if end is not None and end <= now:
        problems.append(
            Problem("scheduled_end_at", f"{end.isoformat()} has passed; set a later end, or none")
        )
    return problems


def start_is_due(experiment: Experiment, *, now: datetime) -> bool:
    """Return whether a scheduled start is due, unless the scheduled end has passed as well."""
    return start_has_passed(experiment, now) and not _end_has_passed(experiment, now)


def window_is_missed(experiment: Experiment, *, now: datetime) -> bool:
    """Return whether the start and the end of a scheduled experiment have both passed."""
    return start_has_passed(experiment, now) and _end_has_passed(experiment, now)


def end_is_due(experiment: Experiment, *, now: datetime) -> bool:
    """Return whether the scheduled end of a running or paused experiment is due."""
    return experiment.status in OPEN and _end_has_passed(experiment, now)


def start_has_passed(experiment: Experiment, now: datetime) -> bool:
    """Return whether the start of a scheduled experiment has passed, whatever its end."""
    start = experiment.scheduled_start_at
    return experiment.status == "scheduled" and start is not None and start <= now


def _end_has_passed(experiment: Experiment, now: datetime) -> bool:
    end = experiment.scheduled_end_at
    return end is not None and end <= now


def visitor_limit_is_reached(experiment: Experiment, visitors: int) -> bool:
    """Return whether a running or paused experiment has reached its visitor limit."""
    limit = experiment.stop_conditions.visitor_limit
    return experiment.status in OPEN and limit is not None and visitors >= limit


def planned_end(experiment: Experiment) -> int | None:
    """Return the number of known outcomes at the last planned look; None without a last look."""
    statistics = experiment.statistics
    return statistics.planned_sample if statistics.sequential == "group_sequential" else None


def planned_end_is_reached(experiment: Experiment, visitors: int) -> bool:
    """Return whether a running or paused experiment has reached its last planned look."""
    end = planned_end(experiment)
    return experiment.status in OPEN and end is not None and visitors >= end


def conversion_limit_is_reached(experiment: Experiment, conversions: int) -> bool:
    """Return whether a running or paused experiment has reached its conversion limit."""
    limit = experiment.stop_conditions.conversion_limit
    return experiment.status in OPEN and limit is not None and conversions >= limit
