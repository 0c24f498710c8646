"""What each goal is judged on, its conversion rate or its revenue per visitor, and against which variant."""

import numpy as np

from engine.analysis.adjustment import Metrics, adjusted_metrics, judged_values
from engine.analysis.evidence import Evidence
from engine.design.experiment import Experiment
from engine.stats.moments import BoolArray, FloatArray, Moments


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
    parts = ((getattr(cents, name), getattr(shares, name)) for name in ("n", "mean", "m2"))
    moments = Moments(*(np.where(money[:, None], cent, share) for cent, share in parts))
    return Metrics(moments, np.zeros(len(money), bool), np.zeros(len(money)))


def metric_moments(experiment: Experiment, evidence: Evidence) -> Moments:
    """Moments per visitor of each goal's metric, goals by variants (see `metrics_of`)."""
    return metrics_of(experiment, evidence).moments
