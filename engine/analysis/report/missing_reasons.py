"""Why a number is missing or a verdict withheld, in words that go on from 'a comparison would mislead: '."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.monitoring import fewest_of_a_kind
from engine.analysis.comparison.significance import (
    MIN_VISITORS,
    Judgement,
    conversions_needed,
    judged_by_mean,
)
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.sequential.confidence_sequence import FEWEST_CONVERSIONS


@dataclass(frozen=True, slots=True)
class Cell:
    """One variant on one goal, with everything known about it."""

    experiment: Experiment
    evidence: Evidence
    judgement: Judgement
    goal: int
    variant: int

    @property
    def control(self) -> int:
        """The control's column; the variant's own while there is no control."""
        return self.variant if self.judgement.control is None else self.judgement.control

    @property
    def is_revenue(self) -> bool:
        """Judged on revenue per visitor."""
        return self.experiment.goals[self.goal].goal_type == "revenue"

    def name(self, column: int) -> str:
        """A variant's name, quoted."""
        return f"'{self.experiment.variants[column].name}'"

    def lacks(self, effect: str) -> bool:
        """Whether this effect has no value here."""
        return bool(np.isnan(getattr(self.judgement.effects, effect)[self.goal, self.variant]))


def why_missing(cell: Cell) -> str | None:
    """What stands in the way of a full answer: the first reason that holds; None if none does."""
    return next((reason for find in _REASONS if (reason := find(cell)) is not None), None)


def _no_control(cell: Cell) -> str | None:
    return "there is no control to compare with" if cell.judgement.control is None else None


def _too_few_visitors(cell: Cell) -> str | None:
    for column in (cell.control, cell.variant):
        count = int(cell.evidence.visitors[column])
        if count == 0:
            return f"{cell.name(column)} has no visitors yet"
        if count < MIN_VISITORS:
            return f"{cell.name(column)} has {count} of the {MIN_VISITORS} visitors that a verdict needs"
    return None


def _too_few_conversions(cell: Cell) -> str | None:
    by_mean = judged_by_mean(cell.experiment, cell.evidence)
    needed = int(conversions_needed(cell.evidence.visitors, by_mean, cell.control)[cell.goal, cell.variant])
    together = int(cell.evidence.conversions[cell.goal, [cell.control, cell.variant]].sum())
    if together >= needed:
        return None
    who = "paying visitors" if cell.is_revenue else "conversions"
    names = f"{cell.name(cell.control)} and {cell.name(cell.variant)}"
    return f"{names} together have {together} of the {needed} {who} that a verdict needs"


def _too_few_to_watch(cell: Cell) -> str | None:
    if cell.experiment.statistics.sequential == "none" or not cell.lacks("log_p"):
        return None
    fewest = fewest_of_a_kind(cell.experiment, cell.evidence, cell.control)[cell.goal, cell.variant]
    if fewest >= FEWEST_CONVERSIONS:
        return None
    kind = "paying visitors" if cell.is_revenue else "visitors who convert, and who do not,"
    return f"looking at any time needs {FEWEST_CONVERSIONS} {kind} in each variant, and one has {fewest:.0f}"


def _never_at_once(cell: Cell) -> str | None:
    epochs = cell.evidence.epochs
    if epochs is None or (epochs.visitors[:, [cell.control, cell.variant]] > 1).all(axis=1).any():
        return None
    names = f"{cell.name(cell.control)} and {cell.name(cell.variant)}"
    return f"{names} never had visitors under the same weights, so there is nothing to compare them by"


def _nothing_varies(cell: Cell) -> str | None:
    return (
        "every visitor of a variant brought the same, so chance can't be measured"
        if cell.lacks("log_p")
        else None
    )


def _no_base(cell: Cell) -> str | None:
    if not cell.lacks("improvement"):
        return None
    what = "revenue" if cell.is_revenue else "conversions"
    return f"{cell.name(cell.control)} has no {what}, so there is no relative change"


def _base_near_zero(cell: Cell) -> str | None:
    if not cell.lacks("low"):
        return None
    name = cell.name(cell.control)
    what = "revenue" if cell.is_revenue else "conversion rate"
    return f"the {what} of {name} can't be told from zero, so the relative change has no limits"


def _outdone(cell: Cell) -> str | None:
    lead, status = int(cell.judgement.lead[cell.goal]), cell.judgement.status[cell.goal]
    if status[cell.variant] != "winner" or cell.variant == lead:
        return None
    return f"it beats {cell.name(cell.control)} too, but {cell.name(lead)} does better"


_REASONS: tuple[Callable[[Cell], str | None], ...] = (
    _no_control,
    _too_few_visitors,
    _too_few_conversions,
    _too_few_to_watch,
    _never_at_once,
    _nothing_varies,
    _no_base,
    _base_near_zero,
    _outdone,
)
