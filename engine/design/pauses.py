"""Pauses of an experiment: periods in which no new visitors are assigned."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Annotated, ClassVar

from engine.errors import Problem
from engine.validation.records import Record, RecordRule, validate
from engine.validation.values import moment, optional


def _ends_after_start(pause: Record) -> Iterator[Problem]:
    if (
        pause.get("ended_at") is not None
        and "started_at" in pause
        and pause["ended_at"] < pause["started_at"]
    ):
        yield Problem("ended_at", "is before started_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """One pause, from `started_at` to `ended_at`; None while it lasts."""

    RULES: ClassVar[tuple[RecordRule, ...]] = (_ends_after_start,)

    started_at: Annotated[datetime, moment]
    ended_at: Annotated[datetime | None, optional(moment)] = None

    def __post_init__(self) -> None:
        validate(self)


def one_after_another(records: Sequence[Record]) -> Iterable[Problem]:
    """Check that every pause but the last has ended, and none begins before the previous one's end."""
    for index, (before, after) in enumerate(pairwise(records)):
        if "ended_at" not in before or "started_at" not in after:
            continue
        if before["ended_at"] is None:
            yield Problem(f"[{index}].ended_at", "is required: another pause follows")
        elif after["started_at"] < before["ended_at"]:
            yield Problem(f"[{index + 1}].started_at", "is before the end of the pause ahead of it")


def with_pause(pauses: tuple[Pause, ...], *, now: datetime) -> tuple[Pause, ...]:
    """Add a pause from `now` on, or from the end of the last one where the clock was set back."""
    last = pauses[-1].ended_at if pauses else None
    return (*pauses, Pause(started_at=max(now, last or now)))


def with_pause_ended(pauses: tuple[Pause, ...], *, now: datetime) -> tuple[Pause, ...]:
    """End the open pause, at its own start where the clock was set back; without one, change nothing."""
    if not pauses or pauses[-1].ended_at is not None:
        return pauses
    return (*pauses[:-1], replace(pauses[-1], ended_at=max(now, pauses[-1].started_at)))
