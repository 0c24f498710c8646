"""Slots of a group, taken at the start of an experiment and given back at its end."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from engine.design.exclusion.exclusion_group import ExclusionGroup
from engine.design.exclusion.group_slots import (
    SLOTS_OF_PERCENT,
    GroupShare,
    GroupSlots,
    SlotRange,
    first_slots,
    free_ranges,
    number_of,
)
from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN
from engine.design.units import unit_name
from engine.errors import Problem, TransitionError
from engine.validation.values import shown


@dataclass(frozen=True, slots=True)
class GroupUse:
    """A group, and the experiments that have slots of it."""

    group: ExclusionGroup
    holders: Sequence[Experiment]

    @property
    def free(self) -> tuple[SlotRange, ...]:
        """The slots that no experiment has."""
        return free_ranges(part for one in self.holders for part in slots_of(one))

    @property
    def free_percent(self) -> int:
        """The percent of the group's visitors that no experiment has."""
        return number_of(self.free) // SLOTS_OF_PERCENT


def slots_of(experiment: Experiment) -> tuple[SlotRange, ...]:
    """Return the slots that an experiment has now; none before its start and once they are given back."""
    kept = experiment.group_slots
    return () if kept is None or kept.released_at is not None else kept.slots


def needs_slots(experiment: Experiment) -> bool:
    """Return whether an experiment of a group has started without slots."""
    return experiment.status in OPEN and experiment.group is not None and experiment.group_slots is None


def with_slots(experiment: Experiment, use: GroupUse | None) -> Experiment:
    """Give an experiment that has started the first free slots; `use` is None of a group that is gone.

    Raises TransitionError `start_requirements_not_met` where there are too few, or others assign other units.
    """
    share = experiment.group
    if share is None or not needs_slots(experiment):
        return experiment
    problems = list(slot_problems(experiment, use))
    if use is None or problems:
        message = f"'{experiment.name}' is not ready to start"
        raise TransitionError("start_requirements_not_met", message, problems)
    taken = GroupSlots(
        salt=use.group.salt,
        bucketing_version=use.group.bucketing_version,
        slots=first_slots(use.free, share.percent * SLOTS_OF_PERCENT),
        taken_at=experiment.started_at or experiment.updated_at,
    )
    return replace(experiment, group_slots=taken)


def slot_problems(experiment: Experiment, use: GroupUse | None) -> Iterator[Problem]:
    """Yield what an experiment lacks to take the slots of its group; nothing of one without a group."""
    share = experiment.group
    if share is None:
        return
    if use is None:
        message = f"no group of the project has the id {shown(share.id)}; choose another, or null for none"
        yield Problem("group.id", message)
        return
    others = [one for one in use.holders if one.id != experiment.id]
    if other := next((one for one in others if one.unit != experiment.unit), None):
        message = (
            f"'{use.group.name}' has '{other.name}', which assigns by the {unit_name(other.unit)}, and this"
            f" one by the {unit_name(experiment.unit)}: they would share visitors"
        )
        yield Problem("group.id", message)
    if use.free_percent < share.percent:
        yield Problem("group.percent", _too_few(share, use))


def _too_few(share: GroupShare, use: GroupUse) -> str:
    """Say what is free now, and when the others give back theirs."""
    given_back = "; ".join(_returns(use.holders))
    return (
        f"{share.percent}% of '{use.group.name}' is asked for, and {use.free_percent}% is free: ask for less,"
        f" or wait ({given_back})"
    )


def _returns(holders: Iterable[Experiment]) -> Iterator[str]:
    """Say what each has and when it gives that back, those with a planned end first."""
    for one in sorted(holders, key=_planned_end):
        percent = number_of(slots_of(one)) // SLOTS_OF_PERCENT
        end = planned_return(one)
        what = "the rollout of " if one.shipped else ""
        when = "no planned end" if end is None else f"until {end.isoformat()}"
        yield f"{percent}% is of {what}'{one.name}', {when}"


def _planned_end(experiment: Experiment) -> tuple[bool, float]:
    end = planned_return(experiment)
    return end is None, 0.0 if end is None else end.timestamp()


def planned_return(experiment: Experiment) -> datetime | None:
    """Return the planned end of a test that has slots; None without one, and of a rollout."""
    return experiment.scheduled_end_at if experiment.status in OPEN else None
