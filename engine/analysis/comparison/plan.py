"""Analysis plan: control, directions, levels and prior that an experiment fixes before its data."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.significance_level import (
    decision_alpha,
    decision_threshold,
    effective_alpha,
)
from engine.design.analysis_settings import Statistics
from engine.design.experiment import Experiment
from engine.stats.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class LiftPrior:
    """Normal prior on the relative lift; both are shares."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisPlan:
    """Settings of an analysis of G goals by V variants, derived once from an experiment.

    `control` is the control's column, None without one; `challengers` are the columns compared with it, none
    without a control. `primary` is the primary goal's row. Per goal: `is_revenue` flags metrics in cents and
    `is_mean` these and other means, and every goal `in_clusters` (the rest are shares of visitors), `wanted`
    is 1 where more is better and -1 where less is (as a column), `margins` are those of guardrails (shares of
    the control's mean, NaN elsewhere), `absolute_margins` those in the unit of the metric (shares, cents, or
    its own; NaN elsewhere), `minimum_effects` the smallest relevant lifts (shares). `shares` are the visitors
    each variant should get now, zeros while all weights are. `known_after` are each goal's days from the
    first exposure to a known outcome, 0 where it is known at once.

    Levels are shares: `family_alpha` for all comparisons together, `comparison_alpha` for one of them by
    Bonferroni, `decision_alpha` what p values are compared with, and `threshold` the score from which a
    comparison is decided, 1 - `decision_alpha`. They are one-sided where tests are (`is_one_sided`: p values
    are of the wanted direction alone); `two_sided_alpha` is that of a comparison's two-sided interval, for a
    one-sided test has alpha on each side. `requires_non_inferiority` where each guardrail must be shown to
    lose no more than its margin. `is_split_by_weight` where weights determine the split: two variants have
    some at least, and they never changed.
    `in_clusters` where visitors were not assigned one by one, so that goals are ratios of sums by cluster.
    `have_weights_changed` where visitors were split by several sets of weights, or may be before long.
    """

    control: int | None
    challengers: IntArray
    primary: int | None
    is_revenue: BoolArray
    is_mean: BoolArray
    wanted: FloatArray
    margins: FloatArray
    absolute_margins: FloatArray
    minimum_effects: FloatArray
    weights: FloatArray
    shares: FloatArray
    known_after: IntArray
    have_weights_changed: bool
    is_guardrail: BoolArray
    requires_non_inferiority: bool
    is_split_by_weight: bool
    in_clusters: bool
    is_bayesian: bool
    is_bandit: bool
    is_one_sided: bool
    statistics: Statistics
    lift_prior: LiftPrior | None
    family_alpha: float
    comparison_alpha: float
    two_sided_alpha: float
    decision_alpha: float
    threshold: float

    @property
    def allowed_by_margin(self) -> tuple[FloatArray, FloatArray]:
        """Times of the control's mean, and what is added to that, at which a guardrail's margin is used up.

        Goals by 1; NaN for other goals.
        """
        relative, absolute = self.margins[:, None], self.absolute_margins[:, None]
        is_relative = np.isnan(absolute)
        kept = 1.0 - np.where(is_relative, self.wanted * relative, 0.0)
        return kept, np.where(is_relative, 0.0, -self.wanted * absolute)


def plan_analysis(experiment: Experiment, *, in_clusters: bool = False) -> AnalysisPlan:
    """Derive the plan of an experiment's analysis, of visitors or of clusters of them."""
    goals, variants, statistics = experiment.goals, experiment.variants, experiment.statistics
    control = control_column(experiment)
    columns = np.arange(len(variants))
    directions = [-1.0 if goal.config.get("direction") == "decrease" else 1.0 for goal in goals]
    margins = np.array([goal.config.get("guardrail_margin_percent") for goal in goals], np.float64) / 100
    absolute = np.array([goal.config.get("guardrail_margin_absolute") for goal in goals], np.float64)
    effects = [
        goal.config.get("minimum_effect_percent") or statistics.minimum_effect_percent for goal in goals
    ]
    weights = np.array([variant.weight for variant in variants], np.float64)
    comparison_alpha = effective_alpha(experiment.confidence_level, len(variants))
    is_one_sided = statistics.alternative == "one_sided"
    is_bayesian, is_bandit = experiment.analysis_method == "bayesian", experiment.traffic_strategy == "bandit"
    have_changed = is_bandit or len(experiment.weight_epochs) > 1
    return AnalysisPlan(
        control=control,
        challengers=columns[:0] if control is None else columns[columns != control],
        primary=primary_row(experiment),
        is_revenue=np.array([goal.unit == "cents" for goal in goals], bool),
        is_mean=np.array([in_clusters or goal.unit != "share" for goal in goals], bool),
        wanted=np.array(directions, np.float64)[:, None],
        margins=margins,
        absolute_margins=absolute / [100 if goal.unit == "share" else 1 for goal in goals],
        minimum_effects=np.array(effects, np.float64) / 100,
        weights=weights,
        shares=weights / max(weights.sum(), np.finfo(float).tiny),
        known_after=np.array([goal.known_after or 0 for goal in goals], np.int64),
        have_weights_changed=have_changed,
        is_guardrail=~np.isnan(margins) | ~np.isnan(absolute),
        requires_non_inferiority=statistics.guardrails == "non_inferior",
        is_split_by_weight=bool((weights > 0).sum() > 1) and not have_changed,
        in_clusters=in_clusters,
        is_bayesian=is_bayesian,
        is_bandit=is_bandit,
        is_one_sided=is_one_sided,
        statistics=statistics,
        lift_prior=_lift_prior(statistics) if is_bayesian else None,
        family_alpha=effective_alpha(experiment.confidence_level, 1),
        comparison_alpha=comparison_alpha,
        two_sided_alpha=comparison_alpha * (2.0 if is_one_sided else 1.0),
        decision_alpha=decision_alpha(experiment),
        threshold=decision_threshold(experiment),
    )


def control_column(experiment: Experiment) -> int | None:
    """Find the control's place among the variants; None without a control."""
    return next((i for i, variant in enumerate(experiment.variants) if variant.is_control), None)


def primary_row(experiment: Experiment) -> int | None:
    """Find the primary goal's place among the goals; None without one."""
    return next((i for i, goal in enumerate(experiment.goals) if goal.is_primary), None)


def _lift_prior(statistics: Statistics) -> LiftPrior | None:
    if statistics.prior != "lift":
        return None
    return LiftPrior(statistics.prior_lift_percent / 100, statistics.prior_deviation_percent / 100)
