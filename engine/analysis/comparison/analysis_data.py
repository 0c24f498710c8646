"""Analysis data: an experiment's evidence with all facts that its analysis derives from both, once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from engine.analysis.comparison.comparable import are_comparable, deciding_visitors, largest_shares
from engine.analysis.comparison.metrics import Metrics, measure
from engine.analysis.comparison.pairs import Pairs
from engine.analysis.comparison.plan import AnalysisPlan, plan_analysis
from engine.analysis.comparison.sample_plan import SamplePlan, plan_sample
from engine.analysis.comparison.stratified import moments_by_epoch, pair_with_control
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.design.experiment import Experiment
from engine.design.running_time import running_days
from engine.design.traffic_pace import eligible_percent, traffic_pace
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.bayesian.priors import pre_period_prior
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisData:
    """Evidence of G goals by V variants, ready to be compared.

    `metrics` are the goals' moments and `pairs` the estimates of each variant and the control (None without
    a control); `by_epoch` are moments by weight epoch, None where weights never changed. `is_mean` flags
    goals compared as means: all but shares, and adjusted shares; `needs_mean_test` those without an exact
    test to fall back on: all but shares, and every goal where weights changed. `beta_priors` are the two
    shapes of each conversion rate's prior (G, 2), `expected_shares` of all visitors each variant should have,
    and `days` those from the first to the last with a visitor, 0 where days are not known. `sample` is the
    plan that the experiment is judged by, and `looks` those recorded so far, in order. `deciding` are the
    visitors that comparisons need so many of, `largest_shares` those of one visitor in the denominators, and
    `is_comparable` flags comparisons whose test is reliable with them (`comparable`), goals by variants.
    """

    experiment: Experiment
    evidence: Evidence
    plan: AnalysisPlan
    metrics: Metrics
    by_epoch: Moments | None
    pairs: Pairs | None
    is_mean: BoolArray
    needs_mean_test: BoolArray
    beta_priors: FloatArray
    expected_shares: FloatArray
    days: int
    allocation: float
    sample: SamplePlan
    looks: tuple[RecordedLook, ...]
    deciding: IntArray
    largest_shares: FloatArray
    is_comparable: BoolArray

    def without_covariate(self) -> "AnalysisData":
        """Return the data without the pre-period, and so without CUPED."""
        values = self.evidence.values
        plain = None if values is None else values.without_covariate()
        evidence = replace(self.evidence, values=plain)
        metrics = measure(self.plan, evidence)
        control, by_epoch = self.plan.control, self.by_epoch
        return replace(
            self,
            evidence=evidence,
            metrics=metrics,
            pairs=None if control is None else pair_with_control(control, metrics, by_epoch),
            is_mean=self.plan.is_mean | metrics.is_adjusted,
            beta_priors=_beta_priors(self.plan, evidence),
            is_comparable=are_comparable(evidence, metrics, self.largest_shares, control),
        )


def prepare(
    experiment: Experiment,
    evidence: Evidence,
    *,
    now: datetime | None = None,
    looks: Sequence[RecordedLook] = (),
    is_finished: bool = False,
) -> AnalysisData:
    """Derive the plan of an experiment, the metrics of its goals and the pairs to compare.

    Running days are counted up to `now`; without it they are the days with visitors. `looks` are those
    recorded so far; `is_finished` where the data are complete and judged by one look.
    """
    plan = plan_analysis(experiment, in_clusters=evidence.clusters is not None)
    metrics = measure(plan, evidence)
    by_epoch = None if evidence.epochs is None else moments_by_epoch(plan, evidence)
    control = plan.control
    days, shares = _observed_days(evidence), largest_shares(evidence)
    days_run = _days_run(experiment, days, now)
    sample = plan_sample(
        plan,
        evidence,
        metrics,
        goal_ids=[goal.id for goal in experiment.goals],
        pace=None if days_run is None else traffic_pace(experiment, days=days_run, now=now),
        now=now,
        looks=looks,
        is_finished=is_finished,
    )
    return AnalysisData(
        experiment=experiment,
        evidence=evidence,
        plan=plan,
        metrics=metrics,
        by_epoch=by_epoch,
        pairs=None if control is None else pair_with_control(control, metrics, by_epoch),
        is_mean=plan.is_mean | metrics.is_adjusted,
        needs_mean_test=plan.is_mean | (by_epoch is not None),
        beta_priors=_beta_priors(plan, evidence),
        expected_shares=_expected_shares(plan, evidence),
        days=days,
        allocation=eligible_percent(experiment, now=now),
        sample=sample,
        looks=tuple(looks),
        deciding=deciding_visitors(evidence),
        largest_shares=shares,
        is_comparable=are_comparable(evidence, metrics, shares, control),
    )


def _beta_priors(plan: AnalysisPlan, evidence: Evidence) -> FloatArray:
    """Derive each goal's Beta prior, goals by two shapes; flat, but for a prior from the pre-period.

    No variant can act before the first exposure, so one prior is of all variants together.
    """
    shapes = np.ones((len(plan.is_revenue), 2))
    if plan.statistics.prior == "pre_period" and evidence.values is not None:
        before = evidence.values.before.x
        totals = zip(before.total.sum(axis=-1), before.n.sum(axis=-1), strict=True)
        for goal, (converted, visitors) in enumerate(totals):
            shapes[goal] = pre_period_prior(min(float(converted), float(visitors)), float(visitors))
    return shapes


def _expected_shares(plan: AnalysisPlan, evidence: Evidence) -> FloatArray:
    """Average the epochs' shares by the visitors of each epoch; the present shares without epochs."""
    epochs = evidence.epochs
    if epochs is None or not evidence.visitors.any():
        return plan.shares
    visitors = epochs.visitors.sum(axis=1)
    return np.asarray(visitors @ epochs.shares / visitors.sum())


def _days_run(experiment: Experiment, observed_days: int, now: datetime | None) -> float | None:
    """Count the days that the experiment ran, without pauses; None where no day is known."""
    if now is not None and experiment.started_at is not None:
        return running_days(experiment, until=now)
    return float(observed_days) if observed_days else None


def _observed_days(evidence: Evidence) -> int:
    active = np.flatnonzero(evidence.daily.visitors.sum(axis=1))
    if active.size == 0:
        return 0
    days = evidence.daily.days
    return int((days[active[-1]] - days[active[0]]).days) + 1
