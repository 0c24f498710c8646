"""Effects by segment: lift, heterogeneity and shrinkage, as arrays.

Arrays are S segments by G goals by C challengers, the variants that are not the control. NaN stands where
there is no number.
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.comparison.comparable import (
    are_skewnesses_known,
    are_spread,
    least_nonzero,
    most_of_one,
)
from engine.analysis.comparison.effects import relative_change
from engine.analysis.comparison.enough_data import has_enough
from engine.analysis.comparison.pairs import Pairs
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.comparison.quantiles import compare_arms, enough_beyond
from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.analysis.evidence.segments import Counts, SegmentEvidence, dimensions_of
from engine.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray
from engine.stats.bayesian.pooling import Families, Pool, Pooled, in_closed_form
from engine.stats.contingency import Tables, lift_of_log_odds, log_odds_ratios, relative_effects
from engine.stats.estimates import Estimate
from engine.stats.frequentist.multiple_testing import benjamini_hochberg
from engine.stats.frequentist.two_sample import log_p_shares
from engine.stats.log_p_values import log_p_normal


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEffects:
    """Effects by segment.

    `improvement` is that of the segment and `rest_improvement` that of all other visitors. `shrunk`, with
    its interval from `low` to `high`, is the posterior mean given the other values of its dimension.
    `chance` is that of a better metric: higher, or lower where the goal wants less; `is_gain` where it was
    better. `log_p` tests for an effect and `log_p_differs` for a difference from the rest, both adjusted
    for all comparisons in here: of those below log(alpha) at most alpha is false on average. `enough` and
    `enough_rest` flag enough data for the first and for the second.
    """

    improvement: FloatArray
    rest_improvement: FloatArray
    shrunk: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    is_gain: BoolArray
    log_p: FloatArray
    log_p_differs: FloatArray
    enough: BoolArray
    enough_rest: BoolArray


@dataclass(frozen=True, slots=True)
class _Effects:
    """Effects on a scale where they compare: log odds ratios, or shares of the mean per visitor.

    `unit` is an effect of 1 as a share of the control's mean, for goals compared as means.
    """

    estimate: Estimate
    improvement: FloatArray
    control_share: FloatArray
    unit: FloatArray
    log_p: FloatArray

    @classmethod
    def empty(cls, n: FloatArray) -> "_Effects":
        """Return effects of `n` visitors with no number in any cell."""
        value, variance, improvement, share, unit, log_p = (np.full(n.shape, np.nan) for _ in range(6))
        return cls(Estimate(value, variance, n), improvement, share, unit, log_p)


def segment_effects(
    plan: AnalysisPlan, evidence: SegmentEvidence, control: int, pool: Pool = in_closed_form
) -> SegmentEffects:
    """Compare every segment with the control and the rest; `pool` shrinks effects to one another.

    At the false discovery rate of the plan's `family_alpha`. p of an effect: the tests of the whole
    experiment. Differences: segment and rest share no visitor, so z has both variances. Adjusted by
    Benjamini and Hochberg (1995) over every segment, goal and variant with enough data, which does not
    depend on the sign of an effect. Only these take part in shrinking, too.
    """
    others, alpha, wanted = plan.challengers, plan.family_alpha, plan.wanted
    rest_counts = evidence.rest
    here, rest = (_effects(plan, counts, control) for counts in (evidence.counts, rest_counts))
    enough, enough_rest = (
        _has_enough(plan, counts, control)[..., others] for counts in (evidence.counts, rest_counts)
    )
    for goal, quantile in evidence.quantiles.items():
        compared = enumerate(zip(quantile.of_segments(), quantile.of_rest(), strict=True))
        for row, (of_segment, of_rest) in compared:
            enough[row, goal] = _has_enough_values(of_segment, control)[others]
            enough_rest[row, goal] = _has_enough_values(of_rest, control)[others]
            if enough[row, goal].any():
                here.log_p[row, goal] = compare_arms(of_segment, control, alpha).log_p[others]
    differs = log_p_normal(here.estimate.minus(rest.estimate).z)
    tables = _tables(evidence.counts, control, others, enough)
    families = Families(_where(enough, here.estimate), tables, ~plan.is_mean)
    pooled = _pool(families, evidence, alpha, pool)
    return SegmentEffects(
        improvement=here.improvement,
        rest_improvement=rest.improvement,
        shrunk=_as_lift(plan, here, pooled.mean),
        low=_as_lift(plan, here, pooled.low),
        high=_as_lift(plan, here, pooled.high),
        chance=np.where(wanted < 0, 1.0 - pooled.chance, pooled.chance),
        is_gain=wanted * np.nan_to_num(here.estimate.value) > 0,
        log_p=benjamini_hochberg(np.where(enough, here.log_p, np.nan), axis=None),
        log_p_differs=benjamini_hochberg(np.where(enough & enough_rest, differs, np.nan), axis=None),
        enough=enough,
        enough_rest=enough_rest,
    )


def _has_enough(plan: AnalysisPlan, counts: Counts, control: int) -> BoolArray:
    """Flag comparisons with enough data; of ratios by what their sums say of single visitors."""
    ratios = counts.ratios
    is_ratio = ratios.n.any(axis=-1, keepdims=True)
    deciding = np.where(is_ratio, least_nonzero(ratios).astype(np.int64), counts.conversions)
    return np.asarray(
        has_enough(counts.observed, deciding, plan.is_mean, control)
        & are_spread(most_of_one(ratios), control)
        & are_skewnesses_known(counts.visitors, ratios.are_thirds_known, control)
    )


def _has_enough_values(quantile: QuantileEvidence, control: int) -> BoolArray:
    return enough_beyond(quantile, control) & are_spread(np.array(quantile.most_of_one), control)


def _effects(plan: AnalysisPlan, counts: Counts, control: int) -> _Effects:
    """Compute the effect of each challenger on each goal, in every row of `counts`."""
    others, is_mean = plan.challengers, plan.is_mean
    shape = (*counts.conversions.shape[:-1], len(others))
    n = (counts.visitors[:, [control]] + counts.visitors[:, others])[:, None]
    effects = _Effects.empty(np.broadcast_to(n, shape).astype(np.float64))
    if (~is_mean).any():
        _fill_shares(effects, counts, ~is_mean, control, others)
    if is_mean.any():
        _fill_means(effects, counts, is_mean, control, others)
    return effects


def _fill_shares(effects: _Effects, counts: Counts, goals: BoolArray, control: int, others: IntArray) -> None:
    """Compute log odds ratios of conversion rates."""
    hits, visitors = counts.conversions[:, goals], counts.observed[:, goals]
    tables = Tables.of(
        hits[..., [control]], visitors[..., [control]], hits[..., others], visitors[..., others]
    )
    odds, estimate = log_odds_ratios(tables), effects.estimate
    estimate.value[:, goals], estimate.variance[:, goals] = odds.value, odds.variance
    effects.improvement[:, goals] = relative_change(tables.control_share, tables.share)
    effects.control_share[:, goals], effects.log_p[:, goals] = tables.control_share, log_p_shares(tables)


def _fill_means(effects: _Effects, counts: Counts, goals: BoolArray, control: int, others: IntArray) -> None:
    """Compute changes of revenue or another value per visitor as shares of the segment's mean."""
    moments = counts.metrics[:, goals]
    pairs = Pairs.of(moments, counts.ratios[:, goals], control)[..., others]
    mean = moments.mean[..., others]
    of_control = np.broadcast_to(moments.mean[..., [control]], mean.shape)
    # One base for both arms of a segment: the mean per visitor of all its arms.
    base = np.broadcast_to(moments.sum_over(-1).mean[..., None], mean.shape)
    change, estimate = relative_effects(pairs.control, pairs.variant, base=base), effects.estimate
    estimate.value[:, goals], estimate.variance[:, goals] = change.value, change.variance
    effects.improvement[:, goals] = relative_change(of_control, mean)
    effects.unit[:, goals] = relative_change(of_control, base) + 1.0
    effects.log_p[:, goals] = pairs.log_p()


def _tables(counts: Counts, control: int, others: IntArray, enough: BoolArray) -> Tables:
    """Tabulate conversions of every challenger and the control; no visitors without enough data."""
    hits, visitors = counts.conversions, counts.observed
    cells = (hits[..., [control]], visitors[..., [control]], hits[..., others], visitors[..., others])
    return Tables.of(*(np.where(enough, cell, 0) for cell in cells))


def _where(enough: BoolArray, estimate: Estimate) -> Estimate:
    return replace(
        estimate,
        value=np.where(enough, estimate.value, np.nan),
        variance=np.where(enough, estimate.variance, np.nan),
    )


def _as_lift(plan: AnalysisPlan, effects: _Effects, value: FloatArray) -> FloatArray:
    """Convert an effect to a share of the control's metric in that segment."""
    is_mean = plan.is_mean[:, None]
    return np.where(is_mean, value * effects.unit, lift_of_log_odds(value, effects.control_share))


def _pool(segments: Families, evidence: SegmentEvidence, alpha: float, pool: Pool) -> Pooled:
    """Shrink each effect: for each goal and challenger the values of a dimension are a family."""
    shape = segments.effects.value.shape
    pooled = Pooled.full(shape, np.nan)
    defined = segments.effects.defined
    for rows in dimensions_of(evidence.segments).values():
        known = rows[defined[rows].any(axis=(1, 2))]
        if len(known) < 2:
            continue
        families = pool(_families(segments, known), alpha)
        pooled[known] = families.map(lambda by_family: by_family.T.reshape(-1, *shape[1:]))
    return pooled


def _families(segments: Families, rows: IntArray) -> Families:
    """Arrange goals and challengers along the first axis, those rows along the second."""

    def transposed(values: AnyArray) -> AnyArray:
        return values[rows].reshape(len(rows), -1).T

    challengers = segments.effects.value.shape[-1]
    return Families(
        segments.effects.map(transposed),
        segments.tables.map(transposed),
        np.repeat(segments.is_share, challengers),
    )
