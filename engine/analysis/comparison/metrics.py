"""Metrics of goals: moments per visitor, with CUPED and caps applied."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.visitor_values import VisitorValues, no_pairs
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.cuped import adjust, adjust_ratios
from engine.stats.delta_method import (
    RatioMoments,
    linearize,
    linearize_together,
    linearize_with_covariate,
)
from engine.stats.frequentist.fisher_exact import SMALL_CELL
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


@dataclass(frozen=True, slots=True)
class Metrics:
    """Moments of the goals' metrics, goals by variants.

    `is_adjusted` flags the goals adjusted by the pre-period (CUPED), and `reduction` is the share of the
    variance within variants that this removes: one a goal, 0 where nothing was adjusted. `ratios` pair the
    denominator x with the numerator y, which is adjusted, of goals that are ratios; others have no pairs.
    `is_skewness_known` flags arms of which the third moment of the metric is known.
    """

    moments: Moments
    is_adjusted: BoolArray
    reduction: FloatArray
    ratios: PairedMoments
    is_skewness_known: BoolArray


def measure(plan: AnalysisPlan, evidence: Evidence) -> Metrics:
    """Measure each goal, goals by variants: shares, or means: cents for revenue.

    Values are capped where the goal caps them, and adjusted by the pre-period where the experiment's
    statistics use CUPED and the pre-period is known.
    """
    if evidence.values is not None and plan.statistics.cuped:
        return adjusted_metrics(evidence.values, is_share=~plan.is_mean)
    if evidence.values is not None and plan.in_clusters:
        return plain_metrics(evidence.values)
    shares = Moments.of_shares(evidence.conversions, evidence.trials)
    if evidence.values is None:
        means, ratios = evidence.revenue, no_pairs(shares.n.shape)
    else:
        means, ratios = metric_moments(evidence.values), evidence.values.orders
    return _unadjusted(Moments.where(plan.is_mean[:, None], means, shares), ratios)


def plain_metrics(values: VisitorValues) -> Metrics:
    """Take the metrics of values as they are, without a pre-period."""
    return _unadjusted(metric_moments(values), values.orders)


def _unadjusted(moments: Moments, ratios: PairedMoments) -> Metrics:
    goals = len(moments.n)
    return Metrics(
        moments=moments,
        is_adjusted=np.zeros(goals, bool),
        reduction=np.zeros(goals),
        ratios=ratios,
        is_skewness_known=ratios.are_thirds_known,
    )


def metric_moments(values: VisitorValues) -> Moments:
    """Take moments per visitor; a ratio, as revenue per order, is linearized by the delta method."""
    return Moments.where(_is_ratio(values), linearize(values.orders), values.value)


def metric_moments_of_all(values: VisitorValues) -> Moments:
    """Take the same with the ratio of all arms in place of each one's own, as tests do (`ratio_test`)."""
    return Moments.where(_is_ratio(values), linearize_together(values.orders), values.value)


def mean_amounts(values: VisitorValues) -> FloatArray:
    """Return the mean value per visitor, or the ratio where a goal is one; not adjusted."""
    orders = values.orders.x.total
    per_order = values.orders.y.total / np.where(orders > 0, orders, 1.0)
    return np.asarray(np.where(_is_ratio(values), per_order, values.value.mean))


def have_means(values: VisitorValues) -> BoolArray:
    """Flag goals and variants that have a mean: a ratio has none where its denominators add up to 0."""
    defined: BoolArray = ~_is_ratio(values) | (values.orders.x.total > 0)
    return defined


def adjusted_metrics(values: VisitorValues, *, is_share: BoolArray) -> Metrics:
    """Adjust every goal whose pre-period is known (CUPED, `cuped.adjust`).

    `is_share` flags goals of ones and zeros. Those are adjusted once every variant with visitors has
    SMALL_CELL conversions and as many visitors without one: below that only exact tests are reliable, and
    they have no adjustment.
    """
    plain = metric_moments(values)
    moments = RatioMoments(values.orders, values.before, values.before_orders, values.triple)
    ratio = linearize_with_covariate(moments)
    paired = PairedMoments.where(_is_ratio(values), ratio, values.before)
    hits = values.value.total
    rarer = np.minimum(hits, values.value.n - hits)
    rarest = np.where(values.value.n > 0, rarer, np.inf).min(axis=-1, initial=np.inf)
    usable = (paired.m2_x.sum(axis=-1) > 0) & (~is_share | (rarest >= SMALL_CELL))
    slopes = np.maximum(values.index_slopes, 1.0)
    adjusted = adjust(paired, without=values.without_before, slopes=slopes)
    ratios = adjust_ratios(moments, adjusted.moments.mean, adjusted.theta, slopes=slopes)
    by_ratio = np.where(_is_ratio(values), ratios.are_thirds_known, paired.are_thirds_known)
    return Metrics(
        moments=Moments.where(usable[:, None], adjusted.moments, plain),
        is_adjusted=usable,
        reduction=np.where(usable, adjusted.reduction, 0.0),
        ratios=PairedMoments.where(usable[:, None], ratios, values.orders),
        is_skewness_known=np.where(usable[:, None], by_ratio, values.orders.are_thirds_known),
    )


def _is_ratio(values: VisitorValues) -> BoolArray:
    return np.asarray(values.orders.n.any(axis=-1))[:, None]
