"""Influence of single visitors: every comparison without each of its largest ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.effects import relative_change
from engine.analysis.comparison.metrics import adjusted_metrics, plain_metrics
from engine.analysis.comparison.pairs import Pairs
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.comparison.stratified import pair_with_control
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.largest_visitors import MOST, LargestVisitors
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.stats.arrays import ArrayRecord, BoolArray, FloatArray, IntArray
from engine.stats.contingency import moments_without, pairs_without, triple_without
from engine.stats.log_p_values import signed_z
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

# Places of visitors that are left out at once: each alone, the two with the largest values, and the two with
# the largest denominators, as one of two large visitors hides what the other does.
_LEFT_OUT: Final = (*((place,) for place in range(2 * MOST)), (0, 1), (MOST, MOST + 1))
# A sound finding is often near its limit, so that leaving anyone out may lose it. One visitor makes or hides
# a difference where it is a standard error, too: so do less than 0.2% of sound wins of revenue and clicks per
# view. The size of a change of z.
LEAST_CHANGE: Final = 1.0
# The share of a variant's squared deviations up to which a visitor, or two, change no z below 4 by as much:
# two such visitors change a difference by 0.45 standard errors, and those by a twentieth; in 1,800 draws, z
# by 0.53 at most. Only in about the first tenth of a plan is the limit of a look above 4.
_SMALL_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Extreme(ArrayRecord):
    """Comparisons without the visitors whose absence changes them most, goals by variants.

    `z` is that of one look without them, NaN where there is none, `improvement` the relative change, and `at`
    the number of what is left out: that of the variant times the sets of each, and the number of the set.
    """

    z: FloatArray
    improvement: FloatArray
    at: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Visitors that are left out of a comparison, `count` of them, all of the variant in column `arm`.

    `value` and `denominator` are theirs together, of `of_value` and `of_denominator` in their variant; the
    denominators are None for a goal without. `improvement` is that without them, None where there is none.
    """

    arm: int
    count: int
    value: float
    of_value: float
    denominator: float | None
    of_denominator: float | None
    z: float
    improvement: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """Comparisons of means without their largest visitors, goals by variants; NaN for others.

    `z` is that of one look with all visitors, positive where the variant is higher; `weakest` has the z that
    leaving visitors out moves furthest towards the other side, `strongest` the one of the largest size.
    `margin_z` and `weakest_margin` are those of the test of a guardrail's margin, positive where it is kept.
    """

    z: FloatArray
    weakest: Extreme
    strongest: Extreme
    margin_z: FloatArray
    weakest_margin: Extreme

    def weakest_of(self, goal: int, plan: AnalysisPlan) -> Extreme:
        """Return what weakens a finding on a goal most: for a guardrail, harm beyond its margin."""
        return self.weakest_margin if plan.is_guardrail[goal] else self.weakest

    @property
    def lost(self) -> FloatArray:
        """Standard errors that the comparison loses without the visitors it hangs on most."""
        return np.asarray(np.abs(self.z) - np.sign(self.z) * self.weakest.z)

    @property
    def lost_of_margin(self) -> FloatArray:
        """Standard errors that harm beyond the margin loses without the visitors it hangs on most."""
        return np.asarray(self.weakest_margin.z - self.margin_z)


def influence_of(data: AnalysisData) -> Influence | None:
    """Compare every variant with the control without each of the largest visitors of both.

    Of goals that are means, by the same sums and the same test as with all visitors; a covariate index of
    several columns is left out. None where the largest visitors are not known, as of sums, and where weights
    changed, since their periods are not known.
    """
    largest, control = data.evidence.largest, data.plan.control
    rows = rows_of_means(data.plan, data.evidence)
    if largest is None or control is None or data.by_epoch is not None or not rows.size:
        return None
    # Of the others nobody was large enough; one row stays, so that there is something to compare.
    is_known = ~np.isnan(largest.value[rows]).all(axis=(1, 2))
    rows = rows[is_known] if is_known.any() else rows[:1]
    everyone = _values(data.evidence)[rows]
    is_adjusted = bool(data.plan.statistics.cuped and everyone.before.n.any())
    # A comparison is of two arms, so that others may lack visitors meanwhile; but a slope is of all arms.
    variants = len(data.plan.weights)
    is_control = np.arange(variants) == control
    groups = np.eye(variants, dtype=bool) if is_adjusted else np.stack([~is_control, is_control])
    stacked = _with_and_without(everyone, largest[rows], groups)
    if is_adjusted:
        metrics = adjusted_metrics(stacked, is_share=np.zeros(len(stacked.caps), bool))
    else:
        metrics = plain_metrics(stacked)
    pairs = pair_with_control(control, metrics, None)
    cells = _Cells.of(data, pairs, rows, groups)
    return cells.influence(data, largest)


def may_decide(
    values: VisitorValues, smallest: FloatArray, largest: FloatArray, denominator: FloatArray
) -> BoolArray:
    """Flag where single visitors may change a comparison by LEAST_CHANGE, goals by variants.

    By the `smallest` and the `largest` value of a visitor, before the cap, and the largest `denominator`.
    False where the visitor furthest away from them all has a _SMALL_SHARE of the squared deviations. True
    with a covariate, as what is left of a value is not known.
    """
    x, y = values.orders.x, values.orders.y
    is_ratio = values.orders.n.any(axis=-1, keepdims=True)
    ratio = np.divide(y.mean, x.mean, out=np.zeros(x.mean.shape), where=is_ratio & (x.mean > 0))
    # No denominator is below 0.
    above = np.fmin(largest, values.caps[:, None]) - np.where(
        is_ratio, np.fmin(ratio, 0.0) * denominator, 0.0
    )
    below = np.where(is_ratio, np.fmax(ratio, 0.0) * denominator, 0.0) - smallest
    mean = np.where(is_ratio, 0.0, values.value.mean)
    furthest = np.maximum(above - mean, below + mean)
    deviations = np.where(is_ratio, y.m2 - 2.0 * ratio * values.orders.co + ratio**2 * x.m2, values.value.m2)
    has_covariate = values.before.n.any(axis=-1, keepdims=True)
    is_small = (furthest**2 <= _SMALL_SHARE * deviations) | (values.value.n == 0)
    return np.asarray(has_covariate | ~is_small)


def rows_of_means(plan: AnalysisPlan, evidence: Evidence) -> IntArray:
    """Return the rows of goals that one visitor could make: no shares, and no quantiles of all values."""
    return np.setdiff1d(np.flatnonzero(plan.is_mean), list(evidence.quantiles))


def describe(evidence: Evidence, extreme: Extreme, goal: int, variant: int) -> LeftOut:
    """Describe what is left out of a comparison."""
    largest, values = evidence.largest, _values(evidence)
    if largest is None:
        raise ValueError("the largest visitors are not known")
    arm, places = divmod(int(extreme.at[goal, variant]), len(_LEFT_OUT))
    chosen = list(_LEFT_OUT[places])
    has_denominator = bool(values.orders.n[goal].any())
    improvement = float(extreme.improvement[goal, variant])
    return LeftOut(
        arm=arm,
        count=len(chosen),
        value=float(largest.value[goal, arm, chosen].sum()),
        of_value=float(values.value.total[goal, arm]),
        denominator=float(largest.denominator[goal, arm, chosen].sum()) if has_denominator else None,
        of_denominator=float(values.orders.x.total[goal, arm]) if has_denominator else None,
        z=float(extreme.z[goal, variant]),
        improvement=improvement if np.isfinite(improvement) else None,
    )


def _values(evidence: Evidence) -> VisitorValues:
    """Take the values of visitors; without an index of covariates, of which single visitors are not known."""
    values = evidence.values
    if values is None:
        return VisitorValues.of(evidence.revenue)
    return values.without_covariate() if values.index_slopes.any() else values


def _with_and_without(everyone: VisitorValues, largest: LargestVisitors, groups: BoolArray) -> VisitorValues:
    """Stack the goals of all visitors, then those without each set of visitors of each group of variants.

    `groups` by variants flag those that lack their visitors at once.
    """
    goals, variants = everyone.value.n.shape
    sets = 1 + len(groups) * len(_LEFT_OUT)
    records = {
        name: getattr(everyone, name).broadcast_to((sets, goals, variants))
        for name in ("value", "orders", "before", "before_orders", "without_before")
    }
    records["triple"] = np.broadcast_to(everyone.triple, (sets, goals, variants))
    # The two visitors of a set are left out one after the other.
    for turn in range(2):
        records = _without_one(records, *_values_left_out(largest, turn, groups))
    triple = records.pop("triple").reshape(sets * goals, variants)
    flat = {
        name: record.rearranged(lambda part: part.reshape(sets * goals, variants))
        for name, record in records.items()
    }
    return VisitorValues(
        triple=triple,
        caps=np.tile(everyone.caps, sets),
        capped=np.tile(everyone.capped, (sets, 1)),
        index_slopes=np.tile(everyone.index_slopes, sets),
        **flat,
    )


def _values_left_out(
    largest: LargestVisitors, turn: int, groups: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Arrange what is left out at a turn: values, denominators and pasts, sets by goals by variants.

    NaN where a set leaves nobody out.
    """
    goals, variants = largest.value.shape[:2]
    found = np.full((3, 1 + len(groups) * len(_LEFT_OUT), goals, variants), np.nan)
    for part, values in zip(found, (largest.value, largest.denominator, largest.before), strict=True):
        for number, places in enumerate(_LEFT_OUT, start=1):
            if turn < len(places):
                part[number :: len(_LEFT_OUT)] = np.where(groups[:, None], values[..., places[turn]], np.nan)
    return found[0], found[1], found[2]


def _without_one(records: Mapping[str, Any], y: FloatArray, x: FloatArray, z: FloatArray) -> dict[str, Any]:
    """Leave one visitor out of all sums, with value y, denominator x and past z; nobody where y is NaN."""
    orders, before, without_before, before_orders = (
        records[name] for name in ("orders", "before", "without_before", "before_orders")
    )
    there = ~np.isnan(y)
    has_others = without_before.n.any(axis=-1, keepdims=True)
    has_past = there & (before.n > 0) & (~np.isnan(z) | ~has_others)
    # What is not known was the average, which adjusts nothing.
    past = np.where(np.isnan(z), before.mean_x, z)
    has_all = has_past & (before_orders.n > 0)
    of_orders, of_before, of_both = (
        pairs_without(_pair(where, *each), whole)
        for where, each, whole in (
            (there & (orders.n > 0), (x, y), orders),
            (has_past, (past, y), before),
            (has_all, (past, x), before_orders),
        )
    )
    triple = triple_without(
        (past, y, x),
        records["triple"],
        (before_orders.x, orders.y, orders.x),
        rest=(of_orders, of_both, of_before),
    )
    return {
        "value": moments_without(_one(there, y), records["value"]),
        "orders": of_orders,
        "before": of_before,
        "before_orders": of_both,
        "triple": np.where(has_all, triple, records["triple"]),
        "without_before": moments_without(
            _one(there & (without_before.n > 0) & ~has_past, y), without_before
        ),
    }


def _one(there: BoolArray, value: FloatArray) -> Moments:
    nothing = np.zeros(there.shape)
    return Moments(there.astype(np.float64), np.where(there, value, 0.0), nothing, nothing)


def _pair(there: BoolArray, x: FloatArray, y: FloatArray) -> PairedMoments:
    nothing = np.zeros(there.shape)
    of_x, of_y = (np.where(there, np.nan_to_num(value), 0.0) for value in (x, y))
    return PairedMoments(there.astype(np.float64), of_x, of_y, *[nothing] * 7)


@dataclass(frozen=True, slots=True)
class _Cells:
    """z of all visitors and of each set that is left out: sets by goals by variants; NaN without a test."""

    z: FloatArray
    margin_z: FloatArray
    improvement: FloatArray
    rows: IntArray
    groups: BoolArray

    @classmethod
    def of(cls, data: AnalysisData, pairs: Pairs, rows: IntArray, groups: BoolArray) -> Self:
        sets, variants = 1 + len(groups) * len(_LEFT_OUT), len(data.plan.weights)
        z = signed_z(pairs.log_p(), pairs.variant.value >= pairs.control.value)
        margin_z = pairs.relative_z(*(np.tile(part[rows], (sets, 1)) for part in data.plan.allowed_by_margin))
        change = relative_change(pairs.control.value, pairs.variant.value)
        shape = (sets, len(rows), variants)
        return cls(z.reshape(shape), margin_z.reshape(shape), change.reshape(shape), rows, groups)

    def influence(self, data: AnalysisData, largest: LargestVisitors) -> Influence:
        """Find what changes each comparison most, among the visitors of the variant and of the control."""
        control, variants = data.plan.control or 0, self.z.shape[-1]
        of_variant = np.stack(
            [~np.isnan(largest.value[self.rows][..., list(places)]).any(axis=-1) for places in _LEFT_OUT]
        )
        of_group = [
            np.broadcast_to(of_variant[..., [control]], of_variant.shape)
            if group[control]
            else of_variant & group
            for group in self.groups
        ]
        usable = np.concatenate(of_group) & (np.arange(variants) != control)
        z, margin_z = self.z[0], data.plan.wanted[self.rows] * self.margin_z[0]
        # Where nothing varies any more, nothing is left of the comparison.
        left = np.where(usable, np.nan_to_num(self.z[1:]), np.nan)
        left_margin = np.where(usable, data.plan.wanted[self.rows] * self.margin_z[1:], np.nan)
        return Influence(
            z=self._spread(data, z),
            weakest=self._extreme(data, left, np.abs(z) - np.sign(z) * left),
            strongest=self._extreme(data, left, np.abs(left) - np.abs(z)),
            margin_z=self._spread(data, margin_z),
            weakest_margin=self._extreme(data, left_margin, left_margin - margin_z),
        )

    def _extreme(self, data: AnalysisData, left: FloatArray, change: FloatArray) -> Extreme:
        """Take what changes each comparison most; two visitors only where none does so alone."""
        known = np.where(np.isnan(change), -np.inf, change)
        is_single = np.array([len(places) == 1 for places in _LEFT_OUT] * len(self.groups))
        alone = np.where(is_single[:, None, None], known, -np.inf)
        at = np.where((alone >= LEAST_CHANGE).any(axis=0), alone.argmax(axis=0), known.argmax(axis=0))
        has_any = np.isfinite(known).any(axis=0)

        def take(cells: FloatArray) -> FloatArray:
            found = np.take_along_axis(cells, at[None], axis=0)[0]
            return self._spread(data, np.where(has_any, found, np.nan))

        group, places = np.divmod(at, len(_LEFT_OUT))
        control = data.plan.control or 0
        arm = np.where(self.groups[group, control], control, np.arange(left.shape[-1]))
        return Extreme(
            z=take(left),
            improvement=take(self.improvement[1:]),
            at=self._spread(data, arm * float(len(_LEFT_OUT)) + places, 0.0).astype(np.int64),
        )

    def _spread(self, data: AnalysisData, cells: FloatArray, elsewhere: float = np.nan) -> FloatArray:
        """Put the cells of the means in the place of their goals."""
        spread = np.full((len(data.plan.is_mean), cells.shape[-1]), elsewhere)
        spread[self.rows] = cells
        return spread
