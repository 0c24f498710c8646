"""Estimates of each variant and the control, stratified by weight epoch, and the estimand."""

import numpy as np

from engine.analysis.comparison.metrics import Metrics, metric_moments
from engine.analysis.comparison.pairs import Pairs
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.visitor_values import no_pairs
from engine.stats.arrays import FloatArray
from engine.stats.frequentist.ratio_test import RatioArms
from engine.stats.moments import Moments
from engine.stats.stratification import Stratified, stratify


def pair_with_control(control: int, metrics: Metrics, by_epoch: Moments | None) -> Pairs:
    """Estimate the control's and each variant's mean.

    Where weights changed these are means within epochs, averaged over the epochs in which both had
    visitors (`stratification.stratify`), so that the control's differ from variant to variant. Elsewhere
    they are plain means of the goals' metrics, and ratios with the errors of `ratio_test`.
    """
    if by_epoch is None:
        return Pairs.of(metrics.moments, metrics.ratios, control)
    strata, none = _stratify(control, by_epoch), no_pairs(metrics.moments.n.shape)
    return Pairs(strata.control, strata.variant, strata.cumulants, RatioArms(none, none))


def moments_by_epoch(plan: AnalysisPlan, evidence: Evidence) -> Moments:
    """Take moments per visitor, epochs by goals by variants; one epoch where weights never changed."""
    epochs = evidence.epochs
    conversions = evidence.conversions[None] if epochs is None else epochs.conversions
    trials = evidence.trials[None] if epochs is None else epochs.trials
    means = _means(plan, evidence)[None] if epochs is None else epochs.values
    shares = Moments.of_shares(conversions, trials)
    return Moments.where(plan.is_mean[:, None], means, shares)


def _means(plan: AnalysisPlan, evidence: Evidence) -> Moments:
    """Take the moments of cents, and of the values of goals with another mean."""
    if evidence.values is None:
        return evidence.revenue
    return Moments.where(plan.is_revenue[:, None], evidence.revenue, metric_moments(evidence.values))


def revenue_means(control: int, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Return cents per visitor of the control and of each variant, goals by variants.

    Stratified where weights changed. NaN where there is nothing to compare.
    """
    if evidence.epochs is None:
        mean = evidence.revenue.mean
        return np.broadcast_to(mean[:, [control]], mean.shape), mean
    strata = _stratify(control, evidence.epochs.revenue)
    return strata.control.value, strata.variant.value


def compared_share(control: int | None, evidence: Evidence) -> float | None:
    """Return the least share of a variant's and the control's visitors that is compared.

    1 where weights never changed; None without a control or visitors.
    """
    if control is None or not evidence.visitors.any():
        return None
    if evidence.epochs is None:
        return 1.0
    visitors = evidence.epochs.visitors.astype(np.float64)
    zero = np.zeros(visitors.shape)
    covered = _stratify(control, Moments(visitors, zero, zero)).covered
    others = (np.arange(len(covered)) != control) & (evidence.visitors > 0)
    return float(covered[others].min()) if others.any() else None


def _stratify(control: int, moments: Moments) -> Stratified:
    return stratify(moments[..., [control]].broadcast_to(moments.n.shape), moments)
