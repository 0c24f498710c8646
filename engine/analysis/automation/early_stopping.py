"""Whether a winner is certain enough to stop for, however often one has looked before."""

from datetime import datetime

import numpy as np

from engine.analysis.comparison.metrics import (
    control_column,
    metric_moments,
    primary_row,
    wanted_directions,
)
from engine.analysis.comparison.monitoring import monitor
from engine.analysis.comparison.significance import Significance, assess_significance
from engine.analysis.evidence.totals import Evidence
from engine.analysis.health.checks import check_health
from engine.design.experiment import Experiment, Variant
from engine.stats.arrays import BoolArray
from engine.stats.sequential.confidence_sequence import wins_always_valid

# A Bayesian winner is stopped for once choosing it wrongly costs, on average, less than this share of the
# control's conversion rate or revenue per visitor.
LARGEST_LOSS = 0.001


def early_winner(experiment: Experiment, evidence: Evidence, *, now: datetime) -> Variant | None:
    """The variant that has won the primary goal beyond what further looks could take back; None without.

    Frequentist: its confidence sequence leaves out no difference on the wanted side. Bayesian: its chance
    to beat the control reaches the threshold and its expected loss is below LARGEST_LOSS of the control's
    metric. Never a p value of a fixed horizon, and nobody wins by data that a health check gives the alarm
    about.
    """
    goal = primary_row(experiment)
    if goal is None or control_column(experiment) is None:
        return None
    judgement = assess_significance(experiment, evidence)
    is_bayesian = experiment.analysis_method == "bayesian"
    find = _cheap_to_be_wrong_about if is_bayesian else _never_to_be_taken_back
    winners = find(experiment, evidence, judgement)[goal]
    alarms = (check.status == "alarm" for check in check_health(experiment, evidence, now))
    if not winners.any() or any(alarms):
        return None
    return experiment.variants[int(np.where(winners, judgement.gain[goal], -np.inf).argmax())]


def _never_to_be_taken_back(experiment: Experiment, evidence: Evidence, judgement: Significance) -> BoolArray:
    sequence = monitor(experiment, evidence)
    if sequence is None:
        return np.zeros(judgement.gain.shape, bool)
    return wins_always_valid(sequence, wanted=wanted_directions(experiment))


def _cheap_to_be_wrong_about(
    experiment: Experiment, evidence: Evidence, judgement: Significance
) -> BoolArray:
    control = metric_moments(experiment, evidence).mean[:, [judgement.control or 0]]
    is_cheap: BoolArray = judgement.effects.loss < LARGEST_LOSS * control
    return np.asarray((judgement.status == "winner") & is_cheap)
