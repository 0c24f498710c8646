"""What each goal is judged on: its conversion rate, or its revenue per visitor."""

import numpy as np

from engine.analysis.evidence import Evidence
from engine.analysis.judgement import is_revenue
from engine.analysis.moments import FloatArray, Moments
from engine.design.experiment import Experiment


def metric_moments(experiment: Experiment, evidence: Evidence) -> Moments:
    """Moments per visitor of each goal's metric, goals by variants: shares, or cents for revenue goals."""
    shares = Moments.of_shares(evidence.conversions, evidence.visitors)
    money = is_revenue(experiment)[:, None]
    parts = ((getattr(evidence.revenue, name), getattr(shares, name)) for name in ("n", "mean", "m2"))
    return Moments(*(np.where(money, cents, share) for cents, share in parts))


def wanted_directions(experiment: Experiment) -> FloatArray:
    """1 for goals of which more is better and -1 for those of which less is, as a column."""
    less = [goal.config.get("direction") == "decrease" for goal in experiment.goals]
    return np.where(np.array(less, bool), -1.0, 1.0)[:, None]
