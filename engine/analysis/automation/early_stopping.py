"""Early stopping: a winner that is certain enough at every look."""

from datetime import datetime

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData, prepare
from engine.analysis.comparison.power import assess_power
from engine.analysis.comparison.significance import Significance, assess_significance
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.health.checks import check_health
from engine.design.experiment import Experiment
from engine.design.variants import Variant
from engine.stats.arrays import BoolArray

# A Bayesian winner ends an experiment once choosing it wrongly costs, on average, less than this share of
# the control's conversion rate or revenue per visitor.
LARGEST_LOSS = 0.001


def early_winner(experiment: Experiment, evidence: Evidence, *, now: datetime) -> Variant | None:
    """Find the variant whose win on the primary goal holds at every later look; None without one.

    Frequentist: its confidence sequence leaves out no difference on the wanted side. Bayesian: its chance
    to beat the control reaches the threshold and its expected loss is below LARGEST_LOSS of the control's
    metric. Never a p value of a fixed horizon, and never by data of a health check in alarm.
    """
    data = prepare(experiment, evidence)
    goal = data.plan.primary
    if goal is None or data.plan.control is None:
        return None
    significance = assess_significance(data)
    if data.plan.is_bayesian:
        winners = _wins_at_low_cost(data, significance, data.plan.control)[goal]
    else:
        winners = significance.wins_at_any_look[goal]
    if not winners.any():
        return None
    checks = check_health(data, assess_power(data), now)
    if any(check.status == "alarm" for check in checks):
        return None
    return experiment.variants[int(np.where(winners, significance.gain[goal], -np.inf).argmax())]


def _wins_at_low_cost(data: AnalysisData, significance: Significance, control: int) -> BoolArray:
    base = data.metrics.moments.mean[:, [control]]
    is_cheap: BoolArray = significance.effects.loss < LARGEST_LOSS * base
    return np.asarray((significance.status == "winner") & is_cheap)
