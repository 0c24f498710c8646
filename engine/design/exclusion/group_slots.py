"""Slots of an exclusion group: the share that an experiment asks for, and those that it has."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, ClassVar, Final, TypeAlias

from engine.errors import Problem
from engine.validation.records import Record, RecordRule, records_of, validate
from engine.validation.values import moment, optional, text, whole

SLOTS: Final = 10_000
SLOTS_OF_PERCENT: Final = SLOTS // 100
_HASHES: Final = 1 << 32
# First hash of a range, and the first hash beyond it.
HashRange: TypeAlias = tuple[int, int]


def _first_below_beyond(part: Record) -> Iterator[Problem]:
    first, beyond = part.get("first"), part.get("beyond")
    if isinstance(first, int) and isinstance(beyond, int) and beyond <= first:
        yield Problem("beyond", f"must be above first, {first}")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SlotRange:
    """Slots from `first` to the one before `beyond`."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (_first_below_beyond,)

    first: Annotated[int, whole(0, SLOTS - 1)]
    beyond: Annotated[int, whole(1, SLOTS)]

    def __post_init__(self) -> None:
        validate(self)

    @property
    def number(self) -> int:
        """The number of slots."""
        return self.beyond - self.first


def _apart(ranges: Sequence[Record]) -> Iterator[Problem]:
    if not ranges:
        yield Problem("", "is empty")
    for index, (before, after) in enumerate(pairwise(ranges), start=1):
        if after["first"] < before["beyond"]:
            yield Problem(f"[{index}].first", "lies within the range before")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShare:
    """An exclusion group, and the percent of its visitors that an experiment asks for."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    id: Annotated[str, text(64).described("Id of the group.", example="grp_q7xm2c5tzhn6d4wrpk3v")]
    percent: Annotated[int, whole(1, 100).described("Percent of the group's visitors.", example=30)]

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSlots:
    """The slots that an experiment took at its start, with the salt and version by which units are hashed.

    They are free for others from `released_at`; None while the experiment has them.
    """

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    salt: Annotated[str, text(255)]
    bucketing_version: Annotated[int, whole(1, 10**6)]
    slots: Annotated[tuple[SlotRange, ...], records_of(SlotRange, _apart, at_most=SLOTS, name="range")]
    taken_at: Annotated[datetime, moment]
    released_at: Annotated[datetime | None, optional(moment)] = None

    def __post_init__(self) -> None:
        validate(self)


def released(slots: GroupSlots | None, *, now: datetime) -> GroupSlots | None:
    """Give slots back; those that were given back stay so."""
    if slots is None or slots.released_at is not None:
        return slots
    return replace(slots, released_at=max(now, slots.taken_at))


def free_ranges(taken: Iterable[SlotRange]) -> tuple[SlotRange, ...]:
    """Return the slots that none of the ranges takes, in order, as ranges that do not touch."""
    found, next_free = list[SlotRange](), 0
    for one in sorted(taken):
        if one.first > next_free:
            found.append(SlotRange(first=next_free, beyond=one.first))
        next_free = max(next_free, one.beyond)
    if next_free < SLOTS:
        found.append(SlotRange(first=next_free, beyond=SLOTS))
    return tuple(found)


def number_of(ranges: Iterable[SlotRange]) -> int:
    """Return the number of slots in ranges that do not overlap."""
    return sum(one.number for one in ranges)


def first_slots(free: Iterable[SlotRange], number: int) -> tuple[SlotRange, ...]:
    """Return the first `number` slots of free ranges; fewer where there are fewer."""
    found = list[SlotRange]()
    for one in free:
        if number <= 0:
            break
        found.append(SlotRange(first=one.first, beyond=one.first + min(number, one.number)))
        number -= found[-1].number
    return tuple(found)


def are_together(one: GroupSlots, other: GroupSlots) -> bool:
    """Tell whether two experiments had their slots at the same time."""
    is_later = one.released_at is None or other.taken_at < one.released_at
    return is_later and (other.released_at is None or one.taken_at < other.released_at)


@lru_cache(maxsize=4096)
def hash_ranges(slots: tuple[SlotRange, ...]) -> tuple[HashRange, ...]:
    """Return the hashes of slots: the slot of a hash is (10,000 · hash) >> 32."""
    return tuple((_first_hash(one.first), _first_hash(one.beyond)) for one in slots)


def _first_hash(slot: int) -> int:
    return -(-slot * _HASHES // SLOTS)
