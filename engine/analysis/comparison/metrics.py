"""What each goal is judged on, its conversion rate or its revenue per visitor, and against which variant.

Metrics without what visitors would have done anyway: which goals are adjusted, and what that gains.
"""

from dataclasses import dataclass

import numpy as np

from engine.analysis.evidence.totals import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.cuped import adjust
from engine.stats.delta_method import RatioMoments, linearize, linearize_with_covariate
from engine.stats.frequentist.fisher_exact import SMALL_CELL
from engine.stats.moments import Moments, PairedMoments


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
    return Moments.where(per_order, linearize(values.orders), values.value)


def adjusted_metrics(values: VisitorValues, *, is_share: BoolArray) -> Metrics:
    """Adjust every goal of whose visitors the past is known by it (`cuped.adjust`).

    `is_share` flags goals of ones and zeros. Those are adjusted once every arm that anybody saw has
    SMALL_CELL visitors of either kind: below that only exact tests are to be trusted, and they know no
    adjustment.
    """
    plain = judged_values(values)
    per_order = _per_order(values)
    ratio = linearize_with_covariate(RatioMoments(values.orders, values.before, values.before_orders))
    paired = PairedMoments.where(per_order, ratio, values.before)
    hits = values.value.total
    rarer = np.minimum(hits, values.value.n - hits)
    rarest = np.where(values.value.n > 0, rarer, np.inf).min(axis=-1, initial=np.inf)
    usable = (paired.m2_x.sum(axis=-1) > 0) & (~is_share | (rarest >= SMALL_CELL))
    found = adjust(paired, without=values.without_before)
    return Metrics(
        moments=Moments.where(usable[:, None], found.moments, plain),
        is_adjusted=usable,
        reduction=np.where(usable, found.reduction, 0.0),
    )


def _per_order(values: VisitorValues) -> BoolArray:
    return np.asarray(values.orders.n.any(axis=-1))[:, None]


def control_column(experiment: Experiment) -> int | None:
    """Where the control stands among the variants; None while there is none."""
    return next((i for i, variant in enumerate(experiment.variants) if variant.is_control), None)


def primary_row(experiment: Experiment) -> int | None:
    """Where the primary goal stands among the goals; None while there is none."""
    return next((i for i, goal in enumerate(experiment.goals) if goal.is_primary), None)


def is_revenue(experiment: Experiment) -> BoolArray:
    """Which goals are judged on revenue per visitor; the others on their conversion rate."""
    return np.array([goal.goal_type == "revenue" for goal in experiment.goals], bool)


def wanted_directions(experiment: Experiment) -> FloatArray:
    """1 for goals of which more is better and -1 for those of which less is, as a column."""
    less = [goal.config.get("direction") == "decrease" for goal in experiment.goals]
    return np.where(np.array(less, bool), -1.0, 1.0)[:, None]


def metrics_of(experiment: Experiment, evidence: Evidence) -> Metrics:
    """What each goal is judged on, goals by variants: shares, or cents per visitor or order for revenue.

    Revenue is cut where the goal caps it, and what visitors did before is taken away where the experiment's
    statistics ask for that and it is known.
    """
    money = is_revenue(experiment)
    if evidence.values is not None and experiment.statistics.cuped:
        return adjusted_metrics(evidence.values, is_share=~money)
    shares = Moments.of_shares(evidence.conversions, evidence.visitors)
    cents = evidence.revenue if evidence.values is None else judged_values(evidence.values)
    moments = Moments.where(money[:, None], cents, shares)
    return Metrics(moments, np.zeros(len(money), bool), np.zeros(len(money)))


def metric_moments(experiment: Experiment, evidence: Evidence) -> Moments:
    """Moments per visitor of each goal's metric, goals by variants (see `metrics_of`)."""
    return metrics_of(experiment, evidence).moments
