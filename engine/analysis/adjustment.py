"""Metrics without what visitors would have done anyway: which goals are adjusted, and what that gains."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.visitor_values import VisitorValues
from engine.stats.cuped import adjust
from engine.stats.delta_method import RatioMoments, linearize, linearize_with_covariate
from engine.stats.frequentist.fisher_exact import SMALL_CELL
from engine.stats.moments import BoolArray, FloatArray, Moments, PairedMoments


@dataclass(frozen=True, slots=True)
class Metrics:
    """Moments of what goals are judged on, goals by variants.

    `is_adjusted` flags the goals from which the past was taken away, and `reduction` is the share of the
    variance within arms that this took away: one a goal, 0 where nothing was.
    """

    moments: Moments
    is_adjusted: BoolArray
    reduction: FloatArray


def judged_values(values: VisitorValues) -> Moments:
    """Values per visitor, those of goals judged per order as shares in the ratio (`ratio.linearize`)."""
    per_order = _per_order(values)
    return _either(per_order, linearize(values.orders), values.value)


def adjusted_metrics(values: VisitorValues, *, is_share: BoolArray) -> Metrics:
    """Adjust every goal of whose visitors the past is known by it (`cuped.adjust`).

    `is_share` flags goals of ones and zeros. Those are adjusted once every arm that anybody saw has
    SMALL_CELL visitors of either kind: below that only exact tests are to be trusted, and they know no
    adjustment.
    """
    plain = judged_values(values)
    per_order = _per_order(values)
    ratio = linearize_with_covariate(RatioMoments(values.orders, values.before, values.before_orders))
    paired = PairedMoments(
        *(
            np.where(per_order, getattr(ratio, name), getattr(values.before, name))
            for name in ("n", "mean_x", "mean_y", "m2_x", "m2_y", "co")
        )
    )
    hits = values.value.total
    rarer = np.minimum(hits, values.value.n - hits)
    rarest = np.where(values.value.n > 0, rarer, np.inf).min(axis=-1, initial=np.inf)
    usable = (paired.m2_x.sum(axis=-1) > 0) & (~is_share | (rarest >= SMALL_CELL))
    found = adjust(paired, without=values.without_before)
    return Metrics(
        moments=_either(usable[:, None], found.moments, plain),
        is_adjusted=usable,
        reduction=np.where(usable, found.reduction, 0.0),
    )


def _per_order(values: VisitorValues) -> BoolArray:
    return np.asarray(values.orders.n.any(axis=-1))[:, None]


def _either(where: BoolArray, first: Moments, second: Moments) -> Moments:
    return Moments(
        *(np.where(where, getattr(first, name), getattr(second, name)) for name in ("n", "mean", "m2"))
    )
