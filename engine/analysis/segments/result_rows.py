"""Results of each segment on each goal, out of the arrays: None where there is no number."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from engine.analysis.comparison.comparable import LARGEST_SHARE
from engine.analysis.comparison.enough_data import MIN_CONVERSIONS, MIN_PAYING_VISITORS, MIN_VISITORS
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.evidence.segments import SegmentEvidence
from engine.analysis.results.formatting import share
from engine.analysis.results.numbers import Nested, listed, numbers
from engine.analysis.results.segment_report import SegmentArm, SegmentResult, SegmentVariant
from engine.analysis.results.variant_result import Interval
from engine.analysis.segments.effects import SegmentEffects
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTable:
    """Effects ready for results: S segments by G goals by C challengers, None where there is no number.

    `columns` has nested lists of the challengers' numbers under the names of SegmentVariant's fields, with
    `low` and `high` for its interval; it is empty without a control. `means` are those of all variants on
    goals measured in numbers. `differs` flags effects that differ from the rest, `tested` those tested for
    it, and `visitors` counts each segment's, in all.
    """

    experiment: Experiment
    plan: AnalysisPlan
    evidence: SegmentEvidence
    columns: dict[str, Nested]
    means: Nested
    differs: BoolArray
    tested: BoolArray
    visitors: IntArray

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        plan: AnalysisPlan,
        evidence: SegmentEvidence,
        effects: SegmentEffects | None,
    ) -> Self:
        """Take the challengers' effects; there are none without a control."""
        none = np.zeros((len(evidence.segments), len(experiment.goals), 0), bool)
        tested = none if effects is None else ~np.isnan(effects.log_p_differs)
        differs = none if effects is None else tested & (effects.log_p_differs <= np.log(plan.family_alpha))
        return cls(
            experiment=experiment,
            plan=plan,
            evidence=evidence,
            columns={} if effects is None else _columns(plan, evidence, effects, tested, differs),
            means=_means(experiment, evidence),
            differs=differs,
            tested=tested,
            visitors=evidence.counts.visitors.sum(axis=1),
        )

    def result(self, row: int, goal: int) -> SegmentResult:
        """Build the result of one segment on one goal, by their places."""
        segment, control = self.evidence.segments[row], self.plan.control
        return SegmentResult(
            dimension=segment.dimension,
            value=segment.value,
            control=None if control is None else SegmentArm(**self._counts(row, goal, control)),
            variants=tuple(
                self._challenger(row, goal, place, column)
                for place, column in enumerate(self.plan.challengers.tolist())
            ),
        )

    def _challenger(self, row: int, goal: int, place: int, column: int) -> SegmentVariant:
        cells = {name: values[row][goal][place] for name, values in self.columns.items()}
        low, high, level = cells.pop("low"), cells.pop("high"), 1.0 - self.plan.family_alpha
        interval = None if low is None or high is None else Interval(low=low, high=high, level=level)
        return SegmentVariant(**self._counts(row, goal, column), shrunk_interval=interval, **cells)

    def _counts(self, row: int, goal: int, column: int) -> dict[str, Any]:
        """Count the visitors of one arm and what they brought."""
        counts, variant = self.evidence.counts, self.experiment.variants[column]
        visitors, revenue = int(counts.visitors[row, column]), counts.so_far.revenue
        conversions = int(counts.so_far.conversions[row, goal, column])
        mean = float(revenue.mean[row, goal, column])
        return {
            "variant_id": variant.id,
            "variant_name": variant.name,
            "visitors": visitors,
            "conversions": conversions,
            "conversion_rate": conversions / visitors if visitors else 0.0,
            "revenue_cents": round(mean * float(revenue.n[row, goal, column])),
            "revenue_per_visitor_cents": mean,
            "mean": self.means[row][goal][column],
        }


def _means(experiment: Experiment, evidence: SegmentEvidence) -> Nested:
    """List the mean of every variant, and the share of visitors with a known outcome where it takes days.

    A ratio has none where its denominators add up to 0, and a quantile none without a value.
    """
    counts, metrics = evidence.counts, evidence.counts.metrics
    is_later = np.array(
        [
            goal.unit == "share" and (goal.known_after is not None or not goal.measure.is_known_at_once)
            for goal in experiment.goals
        ],
        bool,
    )[:, None]
    shares = counts.conversions / np.maximum(counts.observed, 1)
    is_number = np.array([goal.unit == "number" for goal in experiment.goals], bool)
    is_defined = (counts.ratios.n == 0) | (metrics.n > 0)
    for goal in evidence.quantiles:
        is_defined[:, goal] = metrics.n[:, goal] > 0
    is_known = (is_number[:, None] & is_defined) | (is_later & (counts.observed > 0))
    return numbers(np.where(is_later, shares, metrics.mean), where=is_known)


def _columns(
    plan: AnalysisPlan,
    evidence: SegmentEvidence,
    effects: SegmentEffects,
    tested: BoolArray,
    differs: BoolArray,
) -> dict[str, Nested]:
    called = effects.enough & (effects.log_p <= np.log(plan.family_alpha))
    better, worse = called & effects.is_gain, called & ~effects.is_gain
    status = np.select(
        [~effects.enough, better, worse, differs],
        ["insufficient_data", "better", "worse", "differs"],
        "inconclusive",
    )
    return {
        "improvement": numbers(effects.improvement),
        "rest_improvement": numbers(effects.rest_improvement),
        "shrunk_improvement": numbers(effects.shrunk),
        "low": numbers(effects.low),
        "high": numbers(effects.high),
        "chance_to_beat": numbers(effects.chance),
        "adjusted_p_value": numbers(np.exp(effects.log_p)),
        "adjusted_p_value_vs_rest": numbers(np.exp(effects.log_p_differs)),
        "differs_from_rest": listed(differs, where=tested),
        "status": status.tolist(),
        "reason": _reasons(plan, evidence, effects),
    }


def _reasons(plan: AnalysisPlan, evidence: SegmentEvidence, effects: SegmentEffects) -> Nested:
    """Give the first reason for a missing number; None where none applies."""
    shape = effects.enough.shape
    rest = evidence.everyone.visitors - evidence.counts.visitors
    has_no_rest = np.broadcast_to((rest.sum(axis=1) == 0)[:, None, None], shape)
    is_mean, is_revenue = (
        np.broadcast_to(flags[:, None], shape) for flags in (plan.is_mean, plan.is_revenue)
    )
    is_ratio = np.broadcast_to(np.any(evidence.everyone.ratios.n, axis=-1, keepdims=True), shape)
    ordered = (
        (
            ~effects.enough & is_revenue,
            _too_few(f"{MIN_PAYING_VISITORS} paying visitors, more where the variants are of unequal size"),
        ),
        (
            ~effects.enough & is_ratio,
            _too_few(
                f"{MIN_PAYING_VISITORS} visitors with a numerator other than 0, more where the variants are "
                f"of unequal size, and none with more than {share(LARGEST_SHARE)} of the denominators"
            ),
        ),
        (
            ~effects.enough & is_mean,
            _too_few(
                f"{MIN_PAYING_VISITORS} visitors with a value other than 0, more where the variants are of"
                " unequal size"
            ),
        ),
        (~effects.enough, _too_few(f"{MIN_CONVERSIONS} conversions")),
        (
            np.isnan(effects.log_p),
            "no value varies within either variant, so no test is possible",
        ),
        (
            np.isnan(effects.improvement),
            "the control has nothing in this segment, so there is no relative change",
        ),
        (has_no_rest, "all visitors are in this segment, so there is no rest to compare it with"),
        (~effects.enough_rest, "the rest has too few visitors to compare it with"),
        (np.isnan(effects.log_p_differs), "no test is possible in the rest of the visitors"),
        (np.isnan(effects.shrunk), "no other value of the dimension has enough data to estimate from"),
    )
    reasons = np.full(shape, None, object)
    for applies, reason in reversed(ordered):
        reasons[applies] = reason
    nested: Nested = reasons.tolist()
    return nested


def _too_few(conversions: str) -> str:
    return f"both variants require {MIN_VISITORS} visitors in this segment, and together {conversions}"
