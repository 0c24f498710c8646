"""What stands beside each variant's comparison: other ways to look at the same data.

Numbers out of arrays, as results hold them: None where there is none.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.comparison.best_variant import chances_to_be_best
from engine.analysis.comparison.metrics import control_column, is_revenue, metrics_of
from engine.analysis.comparison.revenue import RevenueParts, revenue_parts
from engine.analysis.comparison.significance import Significance, assess_significance
from engine.analysis.evidence.totals import Evidence
from engine.analysis.results.report import (
    Capped,
    Interval,
    RevenuePart,
    Unadjusted,
    VariantResult,
)
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, FloatArray


def number(value: float | np.floating) -> float | None:
    """The number, or None for one that does not exist or is infinite."""
    return float(value) if math.isfinite(value) else None


def between(low: float, high: float, level: float) -> Interval | None:
    """An interval; None where it does not exist, and a bound None where it is infinite."""
    if math.isnan(low) or math.isnan(high):
        return None
    return Interval(low=number(low), high=number(high), level=level)


def improvement_interval(judgement: Significance, goal: int, variant: int) -> Interval | None:
    """The interval of the improvement at the level that the judgement gives it."""
    cell = goal, variant
    effects = judgement.effects
    return between(effects.low[cell], effects.high[cell], float(judgement.interval_levels[cell]))


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantDetails:
    """The arrays of it, goals by variants, and one value a goal in `is_adjusted` and `reduction`."""

    evidence: Evidence
    is_revenue: BoolArray
    is_adjusted: BoolArray
    reduction: FloatArray
    best: FloatArray
    plain: Significance | None
    parts: RevenueParts | None

    def with_details(self, result: VariantResult, goal: int, variant: int) -> VariantResult:
        """The result with everything that is known besides."""
        conversion, spending = self._parts(goal, variant)
        orders = self._orders(goal, variant)
        return replace(
            result,
            chance_to_be_best=number(self.best[goal, variant]),
            orders=orders,
            revenue_per_order_cents=result.revenue_cents / orders if orders else None,
            unadjusted=self._unadjusted(goal, variant),
            capped=self._capped(goal, variant),
            conversion_part=conversion,
            spending_part=spending,
        )

    def _unadjusted(self, goal: int, variant: int) -> Unadjusted | None:
        if self.plain is None or not self.is_adjusted[goal] or variant == self.plain.control:
            return None
        effects, cell = self.plain.effects, (goal, variant)
        log_p = number(effects.log_p[cell])
        return Unadjusted(
            improvement=number(effects.improvement[cell]),
            improvement_interval=improvement_interval(self.plain, goal, variant),
            p_value=None if log_p is None else math.exp(log_p),
            score_value=number(self.plain.score[cell]),
            status=self.plain.status[cell].item(),
            variance_reduction=float(self.reduction[goal]),
        )

    def _capped(self, goal: int, variant: int) -> Capped | None:
        values = self.evidence.values
        cap = None if values is None else number(values.caps[goal])
        if values is None or cap is None:
            return None
        return Capped(cap_cents=cap, visitors=int(values.capped[goal, variant]))

    def _orders(self, goal: int, variant: int) -> int | None:
        values = self.evidence.values
        if values is None or values.orders.n[goal].sum() == 0:
            return None
        return round(float(values.orders.x.total[goal, variant]))

    def _parts(self, goal: int, variant: int) -> tuple[RevenuePart | None, RevenuePart | None]:
        if self.parts is None or not self.is_revenue[goal] or np.isnan(self.parts.converted[goal, variant]):
            return None, None
        cell, parts = (goal, variant), self.parts
        return (
            RevenuePart(
                improvement=number(parts.converted[cell]), chance_to_beat=number(parts.chance_converted[cell])
            ),
            RevenuePart(
                improvement=number(parts.spent[cell]), chance_to_beat=number(parts.chance_spent[cell])
            ),
        )


def details_of(experiment: Experiment, evidence: Evidence) -> VariantDetails:
    """Look at the evidence in the other ways."""
    metrics, money, control = (
        metrics_of(experiment, evidence),
        is_revenue(experiment),
        control_column(experiment),
    )
    # The parts are of all visitors together, which moving weights mix up.
    apart = control is not None and money.any() and evidence.epochs is None
    return VariantDetails(
        evidence=evidence,
        is_revenue=money,
        is_adjusted=metrics.is_adjusted,
        reduction=metrics.reduction,
        best=chances_to_be_best(experiment, evidence),
        plain=_judged_without_past(experiment, evidence) if metrics.is_adjusted.any() else None,
        parts=revenue_parts(evidence, control, money) if control is not None and apart else None,
    )


def _judged_without_past(experiment: Experiment, evidence: Evidence) -> Significance:
    values = evidence.values
    return assess_significance(
        experiment, replace(evidence, values=None if values is None else values.without_covariate())
    )
