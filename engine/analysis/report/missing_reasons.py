"""Reasons for a missing number or decision; each completes 'No reliable comparison yet: '."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.comparable import are_spread, largest_allowed
from engine.analysis.comparison.enough_data import MIN_CLUSTERS, MIN_VISITORS, conversions_needed
from engine.analysis.comparison.monitoring import fewest_required
from engine.analysis.comparison.significance import Significance
from engine.analysis.results.formatting import figure, share
from engine.measures.ratio import denominator_name
from engine.stats.arrays import IntArray
from engine.stats.frequentist.quantiles import FEWEST_BEYOND
from engine.vocabulary import MetricUnit

# From here on, values that differ by a hundredth may count as one (`engine.stats.moments.are_constant`).
LARGEST_EXACT: Final = 1e12
NO_CONTROL = "there is no control to compare with"


@dataclass(frozen=True, slots=True)
class _Words:
    """Words for a metric: what is counted, its total, and its mean."""

    counted: str
    total: str
    mean: str


_WORDS: Mapping[MetricUnit, _Words] = {
    "share": _Words("conversions", "conversions", "conversion rate"),
    "cents": _Words("paying visitors", "revenue", "revenue"),
    "number": _Words("visitors with a value other than 0", "total", "mean"),
}
_OF_MEASURES: Mapping[str, _Words] = {
    "ratio": _Words("visitors with a numerator other than 0", "total", "ratio"),
    "quantile": _Words("visitors beyond the quantile", "quantile", "quantile"),
}


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A comparison of one variant with the control on one goal.

    `known` units have an outcome; they and the conversions `needed` are counts by cell.
    """

    data: AnalysisData
    significance: Significance
    known: IntArray
    needed: IntArray
    control: int
    goal: int
    variant: int

    @property
    def is_mean(self) -> bool:
        """Whether the goal's metric is a mean."""
        return bool(self.data.plan.is_mean[self.goal])

    @property
    def words(self) -> "_Words":
        """The words for the goal's metric."""
        if self.data.plan.in_clusters:
            return _Words(f"{self.data.evidence.noun}s with a value other than 0", "total", "mean")
        goal = self.data.experiment.goals[self.goal]
        return _OF_MEASURES.get(goal.measure.word, _WORDS[goal.unit])

    def name(self, column: int) -> str:
        """Quote a variant's name."""
        return f"'{self.data.experiment.variants[column].name}'"

    @property
    def both_names(self) -> str:
        """The control's and the variant's name."""
        return f"{self.name(self.control)} and {self.name(self.variant)}"

    @property
    def base(self) -> float:
        """The control's metric; 0 without an estimate."""
        pairs = self.data.pairs
        value = 0.0 if pairs is None else float(pairs.control.value[self.goal, self.variant])
        return 0.0 if np.isnan(value) else value

    def lacks(self, effect: str) -> bool:
        """Whether this effect has no value here."""
        return bool(np.isnan(getattr(self.significance.effects, effect)[self.goal, self.variant]))


def missing_reasons(data: AnalysisData, significance: Significance) -> list[list[str | None]]:
    """Give the first reason for a missing number, goals by variants; None where none applies."""
    control, (goals, variants) = data.plan.control, data.evidence.conversions.shape
    if control is None:
        return [[NO_CONTROL] * variants for _ in range(goals)]
    known = data.evidence.known_units
    needed = conversions_needed(
        known,
        data.needs_mean_test,
        control,
        is_bayesian=data.plan.is_bayesian,
        in_clusters=data.plan.in_clusters,
    )
    reasons: list[list[str | None]] = [[None] * variants for _ in range(goals)]
    for goal in range(goals):
        for variant in data.plan.challengers.tolist():
            cell = _Comparison(data, significance, known, needed, control, goal, variant)
            reasons[goal][variant] = next(filter(None, (find(cell) for find in _REASONS)), None)
    return reasons


def _too_few_visitors(cell: _Comparison) -> str | None:
    for column in (cell.control, cell.variant):
        count = int(cell.known[cell.goal, column])
        if count == 0 and cell.data.evidence.visitors[column]:
            return f"no outcome of {cell.name(column)} is known yet"
        if count == 0:
            return f"{cell.name(column)} has no visitors yet"
        if cell.data.plan.in_clusters and count < MIN_CLUSTERS:
            return (
                f"{cell.name(column)} has {count} of the {MIN_CLUSTERS} {cell.data.evidence.noun}s required"
            )
        if count < MIN_VISITORS and not cell.data.plan.in_clusters:
            known = "visitors" if count == cell.data.evidence.visitors[column] else "known outcomes"
            return f"{cell.name(column)} has {count} of the {MIN_VISITORS} {known} required"
    return None


def _too_few_beyond(cell: _Comparison) -> str | None:
    beyond = float(cell.significance.expected[cell.goal, cell.variant])
    if cell.goal not in cell.data.evidence.quantiles or beyond >= FEWEST_BEYOND:
        return None
    return f"{FEWEST_BEYOND} {cell.words.counted} are required in each variant; one has {beyond:.0f}"


def _too_few_conversions(cell: _Comparison) -> str | None:
    if cell.goal in cell.data.evidence.quantiles:
        return None
    needed = int(cell.needed[cell.goal, cell.variant])
    together = int(cell.data.deciding[cell.goal, [cell.control, cell.variant]].sum())
    if together >= needed:
        return None
    return f"{cell.both_names} together have {together:,} of the {needed:,} {cell.words.counted} required"


def _too_few_for_monitoring(cell: _Comparison) -> str | None:
    if cell.data.plan.statistics.sequential == "none" or not cell.lacks("log_p"):
        return None
    fewest, least = cell.significance.expected[cell.goal, cell.variant], fewest_required(cell.data.plan)
    if fewest >= least:
        return None
    kind = cell.words.counted if cell.is_mean else f"visitors who convert and {least} who do not"
    return f"continuous monitoring requires {least} {kind} in each variant; one has {fewest:.0f}"


def _one_visitor(cell: _Comparison) -> str | None:
    if cell.data.is_comparable[cell.goal, cell.variant]:
        return None
    shares, allowed = cell.data.largest_shares[cell.goal], largest_allowed(cell.data.evidence)
    if are_spread(shares, cell.control, allowed)[cell.variant]:
        return None
    column = max(cell.control, cell.variant, key=lambda arm: float(shares[arm]))
    values = cell.data.evidence.values
    is_quantile = cell.goal in cell.data.evidence.quantiles
    is_known = (
        not is_quantile and values is not None and not np.isnan(values.largest_orders[cell.goal, column])
    )
    has = "has" if is_known else "may have up to"
    goal = cell.data.experiment.goals[cell.goal]
    what = denominator_name(goal.config) if goal.measure.is_ratio else "values" if is_quantile else "visitors"
    return (
        f"one {cell.data.evidence.noun} of {cell.name(column)} {has} {share(shares[column])} of its {what},"
        f" and a comparison allows {share(allowed)}"
    )


def _unknown_skewness(cell: _Comparison) -> str | None:
    if cell.data.is_comparable[cell.goal, cell.variant]:
        return None
    return (
        f"{cell.both_names} are of unequal size, and without the sums of cubes and of products of three the "
        "test of a ratio is Welch's, which calls the smaller one a loser too often"
    )


def _no_common_epoch(cell: _Comparison) -> str | None:
    epochs = cell.data.evidence.epochs
    if epochs is None or (epochs.visitors[:, [cell.control, cell.variant]] > 1).all(axis=1).any():
        return None
    return f"{cell.both_names} never had visitors under the same weights, so they can't be compared"


def _quantile_of_epochs(cell: _Comparison) -> str | None:
    goal = cell.data.experiment.goals[cell.goal]
    if cell.data.evidence.epochs is None or not goal.measure.is_quantile:
        return None
    return "weights changed, and quantiles can't be averaged over the times of different weights"


def _no_variation(cell: _Comparison) -> str | None:
    if not cell.lacks("log_p"):
        return None
    means = [
        f"{figure(cell.data.metrics.moments.mean[cell.goal, column])} with {cell.name(column)}"
        for column in (cell.control, cell.variant)
    ]
    if abs(cell.base) >= LARGEST_EXACT:
        return (
            f"the values are too large for their differences to be told: {means[0]} and {means[1]} on"
            " average; subtract the same amount from all of them"
        )
    units = f"{cell.data.evidence.noun}s"
    return f"no value varies: all {units} have {means[0]} and {means[1]}, so no test is possible"


def _no_base(cell: _Comparison) -> str | None:
    if not cell.lacks("improvement"):
        return None
    base = cell.base
    if base < 0:
        return (
            f"the {cell.words.total} of {cell.name(cell.control)} is negative, so there is no relative change"
        )
    amount = "too little" if base > 0 and cell.is_mean else "no"
    return f"{cell.name(cell.control)} has {amount} {cell.words.total}, so there is no relative change"


def _base_near_zero(cell: _Comparison) -> str | None:
    if not cell.lacks("low"):
        return None
    metric, name = cell.words.mean, cell.name(cell.control)
    return f"the {metric} of {name} is not significantly above zero, so the relative change has no interval"


def _other_variant_leads(cell: _Comparison) -> str | None:
    leader = int(cell.significance.leader[cell.goal])
    if cell.significance.status[cell.goal, cell.variant] != "winner" or cell.variant == leader:
        return None
    return f"it beats {cell.name(cell.control)} too, but {cell.name(leader)} does better"


_REASONS: tuple[Callable[[_Comparison], str | None], ...] = (
    _too_few_visitors,
    _too_few_beyond,
    _too_few_conversions,
    _one_visitor,
    _unknown_skewness,
    _too_few_for_monitoring,
    _no_common_epoch,
    _quantile_of_epochs,
    _no_variation,
    _no_base,
    _base_near_zero,
    _other_variant_leads,
)
