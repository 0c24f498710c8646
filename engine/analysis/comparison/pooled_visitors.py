"""Pooled visitors: the metrics of all variants together, and the sample that these require."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy

from engine.analysis.comparison.comparable import deciding_visitors
from engine.analysis.comparison.enough_data import MIN_CLUSTERS, conversions_needed
from engine.analysis.comparison.guardrail_sample import power_of_each
from engine.analysis.comparison.metrics import Metrics
from engine.analysis.comparison.plan import AnalysisPlan
from engine.analysis.evidence.evidence import Evidence
from engine.design.planning import required_sample
from engine.design.planning.always_valid_plan import PLAN_DAYS, drift_at_pace, drift_by_day
from engine.design.planning.required_sample import POWER
from engine.design.planning.stopping import Stopping
from engine.stats.arrays import FloatArray
from engine.vocabulary import SequentialMethod

# Daily looks that the power of a group-sequential test is computed for, and the usual plan day of others.
_LOOKS: Final = 28
# So many visitors stand for the shares of the traffic.
_VISITORS_OF_SHARES: Final = 10**9


def drift_for(
    method: SequentialMethod, alpha: float, *, plan_day: float = _LOOKS, power: float = POWER
) -> float:
    """Compute the mean z at the plan that gives the power to one comparison at the two-sided `alpha`.

    `plan_day` is that of an always-valid test, whose power depends on it.
    """
    if method == "none":
        return float(-scipy.special.ndtri(alpha / 2.0) + scipy.special.ndtri(power))
    if method == "always_valid":
        return float(drift_by_day(plan_day, alpha, power))
    return Stopping(method, _LOOKS).drift(power, alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledVisitors:
    """Mean and variance of each goal's metric over all visitors, and what a plan needs beside them.

    `drift` is the mean z at the plan that gives 80% power, and `planned_drift` that which the sample is
    planned for: more where the primary goal shares its power with guardrails.
    """

    mean: FloatArray
    variance: FloatArray
    conversion_rate: FloatArray
    shares: FloatArray
    drift: float
    planned_drift: float

    @classmethod
    def of(cls, plan: AnalysisPlan, evidence: Evidence, metrics: Metrics) -> "PooledVisitors":
        """Merge the variants' metrics."""
        together = metrics.moments.sum_over(-1)
        order = [] if plan.control is None else [plan.control, *plan.challengers.tolist()]
        return cls(
            mean=together.mean,
            variance=together.variance,
            conversion_rate=deciding_visitors(evidence).sum(axis=-1)
            / np.maximum(evidence.known_units.sum(axis=-1), 1),
            shares=plan.shares[order],
            drift=drift_for(plan.statistics.sequential, plan.two_sided_alpha),
            planned_drift=drift_for(
                plan.statistics.sequential, plan.two_sided_alpha, power=power_of_each(plan)
            ),
        )

    @property
    def is_known(self) -> bool:
        """Whether there is a pair of variants with traffic to plan for."""
        return bool(len(self.shares) > 1 and self.shares[0] > 0 and (self.shares[1:] > 0).any())

    def detectable(self, visitors: float) -> FloatArray:
        """Compute each goal's detectable effect; NaN where there is none."""
        if not self.is_known:
            return np.full(self.mean.shape, np.nan)
        return required_sample.detectable_effect(
            mean=self.mean, variance=self.variance, visitors=visitors, shares=self.shares, drift=self.drift
        )

    def detectable_loss(self, visitors: float) -> FloatArray:
        """Compute the difference of each goal's means that is detected, in its unit; NaN where unknown."""
        if not self.is_known:
            return np.full(self.mean.shape, np.nan)
        return self.drift * required_sample.standard_error(self.variance, visitors, self.shares)


def visitors_at(plan: AnalysisPlan, pooled: PooledVisitors, drift: FloatArray | float) -> FloatArray:
    """Compute the visitors that the primary goal requires at each mean z; NaN without any that are enough."""
    row = plan.primary
    if row is None or not pooled.is_known:
        return np.full(np.shape(drift), np.nan)
    return required_sample.required_visitors(
        mean=pooled.mean[row],
        variance=pooled.variance[row],
        conversion_rate=pooled.conversion_rate[row],
        minimum_effect=plan.minimum_effects[row],
        shares=pooled.shares,
        drift=drift,
        least_conversions=least_conversions(
            plan.shares,
            plan.control or 0,
            by_mean=bool(plan.is_mean[row]) or plan.have_weights_changed,
            is_bayesian=plan.is_bayesian,
            in_clusters=plan.in_clusters,
        ),
        least_per_variant=MIN_CLUSTERS if plan.in_clusters else required_sample.LEAST_CONVERSIONS,
    )


def always_valid_drift(plan: AnalysisPlan, pooled: PooledVisitors, per_day: float, power: float) -> float:
    """Return the mean z that an always-valid test plans for, by the day on which its plan is reached."""
    alpha, given = plan.two_sided_alpha, plan.statistics.planned_sample
    if given is None:
        required = visitors_at(plan, pooled, drift_by_day(PLAN_DAYS, alpha, power))
    else:
        required = np.full(PLAN_DAYS.shape, float(given))
    return float(drift_at_pace(required, per_day, alpha, power))


def least_conversions(
    shares: FloatArray, control: int, *, by_mean: bool, is_bayesian: bool, in_clusters: bool = False
) -> float:
    """Compute the conversions of all variants with which every comparison has enough data, by the shares."""
    counts = np.round(shares * _VISITORS_OF_SHARES).astype(np.int64)
    needed = conversions_needed(
        counts, np.array([by_mean]), control, is_bayesian=is_bayesian, in_clusters=in_clusters
    )[0]
    compared = (shares > 0) & (np.arange(len(shares)) != control)
    return float((needed / (shares + shares[control]))[compared].max(initial=0.0))
