"""Why a number is missing or a verdict withheld, in words that go on from 'a comparison would mislead: '."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.monitoring import min_cell_counts
from engine.analysis.comparison.significance import (
    MIN_VISITORS,
    Significance,
    conversions_needed,
    uses_mean_test,
)
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.stats.sequential.confidence_sequence import FEWEST_CONVERSIONS


@dataclass(frozen=True, slots=True)
class VariantOnGoal:
    """One variant on one goal, with everything known about it."""

    experiment: Experiment
    evidence: Evidence
    judgement: Significance
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


def why_missing(cell: VariantOnGoal) -> str | None:
    """What stands in the way of a full answer: the first reason that holds; None if none does."""
    return next((reason for find in _REASONS if (reason := find(cell)) is not None), None)


def _no_control(cell: VariantOnGoal) -> str | None:
    return "there is no control to compare with" if cell.judgement.control is None else None


def _too_few_visitors(cell: VariantOnGoal) -> str | None:
    for column in (cell.control, cell.variant):
        count = int(cell.evidence.visitors[column])
        if count == 0:
            return f"{cell.name(column)} has no visitors yet"
        if count < MIN_VISITORS:
            return f"{cell.name(column)} has {count} of the {MIN_VISITORS} visitors that a verdict needs"
    return None


def _too_few_conversions(cell: VariantOnGoal) -> str | None:
    by_mean = uses_mean_test(cell.experiment, cell.evidence)
    needed = int(conversions_needed(cell.evidence.visitors, by_mean, cell.control)[cell.goal, cell.variant])
    together = int(cell.evidence.conversions[cell.goal, [cell.control, cell.variant]].sum())
    if together >= needed:
        return None
    who = "paying visitors" if cell.is_revenue else "conversions"
    names = f"{cell.name(cell.control)} and {cell.name(cell.variant)}"
    return f"{names} together have {together} of the {needed} {who} that a verdict needs"


def _too_few_to_watch(cell: VariantOnGoal) -> str | None:
    if cell.experiment.statistics.sequential == "none" or not cell.lacks("log_p"):
        return None
    fewest = min_cell_counts(cell.experiment, cell.evidence, cell.control)[cell.goal, cell.variant]
    if fewest >= FEWEST_CONVERSIONS:
        return None
    kind = "paying visitors" if cell.is_revenue else "visitors who convert, and who do not,"
    return f"looking at any time needs {FEWEST_CONVERSIONS} {kind} in each variant, and one has {fewest:.0f}"


def _never_at_once(cell: VariantOnGoal) -> str | None:
    epochs = cell.evidence.epochs
    if epochs is None or (epochs.visitors[:, [cell.control, cell.variant]] > 1).all(axis=1).any():
        return None
    names = f"{cell.name(cell.control)} and {cell.name(cell.variant)}"
    return f"{names} never had visitors under the same weights, so there is nothing to compare them by"


def _nothing_varies(cell: VariantOnGoal) -> str | None:
    return (
        "every visitor of a variant brought the same, so chance can't be measured"
        if cell.lacks("log_p")
        else None
    )


def _no_base(cell: VariantOnGoal) -> str | None:
    if not cell.lacks("improvement"):
        return None
    what = "revenue" if cell.is_revenue else "conversions"
    return f"{cell.name(cell.control)} has no {what}, so there is no relative change"


def _base_near_zero(cell: VariantOnGoal) -> str | None:
    if not cell.lacks("low"):
        return None
    name = cell.name(cell.control)
    what = "revenue" if cell.is_revenue else "conversion rate"
    return f"the {what} of {name} can't be told from zero, so the relative change has no limits"


def _outdone(cell: VariantOnGoal) -> str | None:
    lead, status = int(cell.judgement.lead[cell.goal]), cell.judgement.status[cell.goal]
    if status[cell.variant] != "winner" or cell.variant == lead:
        return None
    return f"it beats {cell.name(cell.control)} too, but {cell.name(lead)} does better"


_REASONS: tuple[Callable[[VariantOnGoal], str | None], ...] = (
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
