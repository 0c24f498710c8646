"""Ramp of an experiment: steps by which its traffic grows, and the answer to harm."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Annotated, ClassVar

from engine.design.conclusion import LONGEST_NOTE
from engine.errors import Problem
from engine.validation.records import Record, RecordRule, records_of, validate
from engine.validation.values import choice, list_of, moment, number, optional, text, whole
from engine.vocabulary import HarmAction, words

_MOST_STEPS = 20
# A year.
_LONGEST_STEP = 8_760
_Percent = whole(1, 100)
# Ids of goals, and names of health checks.
_Findings = list_of(text(64), at_most=200)
_Action = choice(words(HarmAction))


@dataclass(frozen=True, slots=True, kw_only=True)
class RampStep:
    """A percent of eligible visitors, and the hours that it lasts at least."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    percent: Annotated[int, _Percent.described("Percent of eligible visitors.", example=5)]
    hours: Annotated[
        float | None,
        optional(number(0.01, _LONGEST_STEP)).described(
            "Hours until the next step; of the last one, until the ramp is over.", example=24
        ),
    ] = None

    def __post_init__(self) -> None:
        validate(self)


def _percents_grow(steps: Sequence[Record]) -> Iterator[Problem]:
    if not steps:
        yield Problem("", "is empty; give at least one step")
    for index, (before, after) in enumerate(pairwise(steps)):
        if before.get("hours") is None:
            yield Problem(f"[{index}].hours", "is required: another step follows")
        first, second = before.get("percent"), after.get("percent")
        if isinstance(first, int) and isinstance(second, int) and second <= first:
            yield Problem(f"[{index + 1}].percent", f"must be above {first}, that of the step before")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """Steps of growing traffic, and what is done where a variant harms a goal."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    steps: Annotated[
        tuple[RampStep, ...],
        records_of(RampStep, _percents_grow, at_most=_MOST_STEPS, name="step").described(
            "At least one; percents grow."
        ),
    ]
    on_harm: Annotated[
        HarmAction,
        _Action.described("`rollback` ends the experiment with the control; `pause` stops newcomers."),
    ] = "rollback"

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenStep:
    """A step of a ramp that was taken; the last one is that of now."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    percent: Annotated[int, _Percent]
    started_at: Annotated[datetime, moment]

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """Harm that a ramp has found: ids of harmed goals, or names of health checks that alarm."""

    RULES: ClassVar[tuple[RecordRule, ...]] = ()

    found_at: Annotated[datetime, moment]
    findings: Annotated[tuple[str, ...], _Findings]
    variant_ids: Annotated[tuple[str, ...], list_of(text(64), at_most=20)]
    action: Annotated[HarmAction, _Action]
    message: Annotated[str, text(LONGEST_NOTE, lines=True)]

    def __post_init__(self) -> None:
        validate(self)


def taken_in_order(steps: Sequence[Record]) -> Iterable[Problem]:
    """Check that each step that was taken has more traffic than the one before, and no earlier start."""
    for index, (before, after) in enumerate(pairwise(steps), start=1):
        if after["percent"] <= before["percent"]:
            yield Problem(f"[{index}].percent", "is not above that of the step before")
        if after["started_at"] < before["started_at"]:
            yield Problem(f"[{index}].started_at", "is before the start of the step ahead of it")
