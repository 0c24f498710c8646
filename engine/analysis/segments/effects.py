"""What every segment says about every goal and variant: the arrays behind a segment report.

Arrays are S segments by G goals by C challengers, the variants that are not the control. In here NaN
stands where there is no number.
"""

from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.comparison.effects import relative_change
from engine.analysis.comparison.metrics import is_revenue, wanted_directions
from engine.analysis.comparison.significance import has_enough
from engine.analysis.evidence.segments import Counts, SegmentEvidence, dimensions_of
from engine.design.experiment import Experiment
from engine.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray
from engine.stats.bayesian.pooling import (
    Families,
    Pool,
    Pooled,
    in_closed_form,
)
from engine.stats.contingency import Tables, lift_of_log_odds, log_odds_ratios, relative_effects
from engine.stats.estimates import Estimate
from engine.stats.frequentist.multiple_testing import benjamini_hochberg
from engine.stats.frequentist.two_sample import compare_means, log_p_shares
from engine.stats.log_p_values import log_p_normal


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEffects:
    """Effects by segment.

    `improvement` is observed here and `rest_improvement` in everybody else. `shrunk`, with its interval
    from `low` to `high`, is what to believe of it given the other values of its dimension. `chance` is
    that of a better metric: higher, or lower where the goal wants less; `is_gain` where it was better.
    `log_p` asks whether there is an effect and `log_p_differs` whether it is another than that of the
    rest, both adjusted for all that is in here: of what is below log(alpha) at most alpha is false on
    average. `enough` and `enough_rest` are where there is data for the first and for the second.
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

    `unit` is what an effect of 1 means as a share of the control's mean, for revenue goals.
    """

    estimate: Estimate
    improvement: FloatArray
    control_share: FloatArray
    unit: FloatArray
    log_p: FloatArray


def segment_effects(
    experiment: Experiment,
    evidence: SegmentEvidence,
    control: int,
    alpha: float,
    pool: Pool = in_closed_form,
) -> SegmentEffects:
    """Judge all segments together, at the false discovery rate `alpha`; `pool` draws them to one another.

    p of an effect: the tests of the whole experiment. Differences: segment and rest share no visitor, so z
    is taken with both variances. Adjusted by Benjamini and Hochberg (1995) over every segment, goal and
    variant with enough data; which those are does not depend on which variant did better. Only they take
    part in shrinking, too.
    """
    others = np.flatnonzero(np.arange(len(experiment.variants)) != control)
    rest_counts = evidence.rest
    here, rest = (_effects(experiment, part, control, others) for part in (evidence.counts, rest_counts))
    enough, enough_rest = (
        has_enough(part.visitors, part.conversions, is_revenue(experiment), control)[..., others]
        for part in (evidence.counts, rest_counts)
    )
    wanted = wanted_directions(experiment)
    differs = log_p_normal(here.estimate.minus(rest.estimate).z)
    segments = Families(
        _where(enough, here.estimate),
        _tables(evidence.counts, control, others, enough),
        ~is_revenue(experiment),
    )
    believed = _pooled(segments, evidence, alpha, pool)
    return SegmentEffects(
        improvement=here.improvement,
        rest_improvement=rest.improvement,
        shrunk=_as_lift(experiment, here, believed.mean),
        low=_as_lift(experiment, here, believed.low),
        high=_as_lift(experiment, here, believed.high),
        chance=np.where(wanted < 0, 1.0 - believed.chance, believed.chance),
        is_gain=wanted * np.nan_to_num(here.estimate.value) > 0,
        log_p=benjamini_hochberg(np.where(enough, here.log_p, np.nan), axis=None),
        log_p_differs=benjamini_hochberg(np.where(enough & enough_rest, differs, np.nan), axis=None),
        enough=enough,
        enough_rest=enough_rest,
    )


def _effects(experiment: Experiment, counts: Counts, control: int, others: IntArray) -> _Effects:
    """The effect of each challenger on each goal, in every row of `counts`."""
    money = is_revenue(experiment)
    shape = (*counts.conversions.shape[:-1], len(others))
    value, variance, improvement, share, unit, log_p = (np.full(shape, np.nan) for _ in range(6))
    n = np.broadcast_to((counts.visitors[:, [control]] + counts.visitors[:, others])[:, None], shape)
    if (~money).any():
        hits, visitors = counts.conversions[:, ~money], counts.visitors[:, None]
        tables = Tables.of(
            hits[..., [control]], visitors[..., [control]], hits[..., others], visitors[..., others]
        )
        odds = log_odds_ratios(tables)
        value[:, ~money], variance[:, ~money] = odds.value, odds.variance
        improvement[:, ~money] = relative_change(tables.control_share, tables.share)
        share[:, ~money], log_p[:, ~money] = tables.control_share, log_p_shares(tables)
    if money.any():
        moments = counts.revenue[:, money]
        treated = moments[..., others]
        controls = moments[..., [control]].broadcast_to(treated.n.shape)
        # One base for both arms of a segment: effects are shares of what its visitors bring on average.
        base = np.broadcast_to(moments.sum_over(-1).mean[..., None], treated.n.shape)
        change = relative_effects(controls, treated, base=base)
        value[:, money], variance[:, money] = change.value, change.variance
        improvement[:, money] = relative_change(controls.mean, treated.mean)
        unit[:, money] = relative_change(controls.mean, base) + 1.0
        log_p[:, money] = compare_means(Estimate.of(controls), Estimate.of(treated), 0.05).log_p
    return _Effects(Estimate(value, variance, n.astype(np.float64)), improvement, share, unit, log_p)


def _tables(counts: Counts, control: int, others: IntArray, there: BoolArray) -> Tables:
    """Conversions of every challenger beside the control's; nobody where there is not enough data."""
    hits, visitors = counts.conversions, counts.visitors[:, None]
    found = (hits[..., [control]], visitors[..., [control]], hits[..., others], visitors[..., others])
    return Tables.of(*(np.where(there, part, 0) for part in found))


def _where(there: BoolArray, estimate: Estimate) -> Estimate:
    return replace(
        estimate,
        value=np.where(there, estimate.value, np.nan),
        variance=np.where(there, estimate.variance, np.nan),
    )


def _as_lift(experiment: Experiment, effects: _Effects, value: FloatArray) -> FloatArray:
    """An effect as a share of the control's metric in that segment."""
    money = is_revenue(experiment)[:, None]
    return np.where(money, value * effects.unit, lift_of_log_odds(value, effects.control_share))


def _pooled(segments: Families, evidence: SegmentEvidence, alpha: float, pool: Pool) -> Pooled:
    """What to believe of each effect: for each goal and challenger the values of a dimension are a family."""
    shape = segments.effects.value.shape
    found = Pooled.full(shape, np.nan)
    defined = segments.effects.defined
    for rows in dimensions_of(evidence.segments).values():
        known = rows[defined[rows].any(axis=(1, 2))]
        if len(known) < 2:
            continue
        believed = pool(_families(segments, known), alpha)
        found[known] = believed.map(lambda by_family: by_family.T.reshape(-1, *shape[1:]))
    return found


def _families(segments: Families, rows: IntArray) -> Families:
    """Goals and challengers along the first axis, those rows along the second."""

    def turned(values: AnyArray) -> AnyArray:
        return values[rows].reshape(len(rows), -1).T

    challengers = segments.effects.value.shape[-1]
    return Families(
        segments.effects.map(turned),
        segments.tables.map(turned),
        np.repeat(segments.is_share, challengers),
    )
