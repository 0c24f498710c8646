"""What every segment says about every goal and variant: the arrays behind a segment report.

Arrays are S segments by G goals by C challengers, the variants that are not the control. In here NaN
stands where there is no number.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.comparisons import benjamini_hochberg
from engine.analysis.effects import relative_change
from engine.analysis.estimates import Estimate
from engine.analysis.frequentist import compare_means, log_p_shares
from engine.analysis.judgement import MIN_CONVERSIONS, MIN_PAYING_VISITORS, has_enough
from engine.analysis.metrics import is_revenue, wanted_directions
from engine.analysis.moments import BoolArray, FloatArray
from engine.analysis.segment_evidence import Counts, IntArray, SegmentEvidence, dimensions_of
from engine.analysis.segments import lift_of_log_odds, log_odds_ratios, relative_effects
from engine.analysis.shrinkage import shrink
from engine.analysis.tables import Tables
from engine.analysis.tails import log_p_normal
from engine.design.experiment import Experiment

# Families of effects are shrunk so many effects at a time: each takes a grid of over a hundred numbers.
_AT_A_TIME = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFindings:
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


def find(experiment: Experiment, evidence: SegmentEvidence, control: int, alpha: float) -> SegmentFindings:
    """Judge all segments together, at the false discovery rate `alpha`.

    p of an effect: the tests of the whole experiment. Differences: segment and rest share no visitor, so z
    is taken with both variances. Adjusted by Benjamini and Hochberg (1995) over every segment, goal and
    variant with enough data; which those are does not depend on which variant did better. Only they take
    part in shrinking, too.
    """
    others = np.flatnonzero(np.arange(len(experiment.variants)) != control)
    rest_counts = evidence.rest
    here, rest = (_effects(experiment, part, control, others) for part in (evidence.counts, rest_counts))
    needed = np.where(is_revenue(experiment), MIN_PAYING_VISITORS, MIN_CONVERSIONS)
    enough, enough_rest = (
        has_enough(part.visitors, part.conversions, needed, control)[..., others]
        for part in (evidence.counts, rest_counts)
    )
    wanted = wanted_directions(experiment)
    differs = log_p_normal(here.estimate.minus(rest.estimate).z)
    mean, low, high, chance = _shrunk(_where(enough, here.estimate), evidence, alpha)
    return SegmentFindings(
        improvement=here.improvement,
        rest_improvement=rest.improvement,
        shrunk=_as_lift(experiment, here, mean),
        low=_as_lift(experiment, here, low),
        high=_as_lift(experiment, here, high),
        chance=np.where(wanted < 0, 1.0 - chance, chance),
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


def _shrunk(effects: Estimate, evidence: SegmentEvidence, alpha: float) -> FloatArray:
    """Mean, both ends of the interval, and the chance to be above 0: the values of a dimension a family."""
    found = np.full((4, *effects.value.shape), np.nan)
    defined = effects.defined
    for rows in dimensions_of(evidence.segments).values():
        known = rows[defined[rows].any(axis=(1, 2))]
        if len(known) < 2:
            continue
        families = _families(effects, known)
        parts = [shrink(block, alpha=alpha) for block in _blocks(families)]
        for place, name in enumerate(("mean", "low", "high", "chance")):
            by_family = np.concatenate([getattr(part, name) for part in parts])
            found[place, known] = by_family.T.reshape(len(known), *effects.value.shape[1:])
    return found


def _families(effects: Estimate, rows: IntArray) -> Estimate:
    """Goals and challengers along the first axis, the values of the dimension along the second."""
    parts = (effects.value, effects.variance, effects.n)
    return Estimate(*(part[rows].reshape(len(rows), -1).T for part in parts))


def _blocks(families: Estimate) -> Iterator[Estimate]:
    count, size = families.value.shape
    step = max(_AT_A_TIME // size, 1)
    for first in range(0, count, step):
        block = slice(first, first + step)
        yield Estimate(families.value[block], families.variance[block], families.n[block])
