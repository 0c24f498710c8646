"""Early stopping: a winner that holds at every look."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from engine.analysis.comparison.analysis_data import prepare
from engine.analysis.comparison.plan import AnalysisPlan, plan_analysis
from engine.analysis.comparison.significance import assess_significance
from engine.analysis.decision.experiment_decision import decide_experiment
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.analysis.health.checks import check_health
from engine.design.experiment import Experiment
from engine.design.variants import Variant
from engine.stats.arrays import IntArray


def early_winner(
    experiment: Experiment, evidence: Evidence, *, now: datetime, looks: Sequence[RecordedLook] = ()
) -> Variant | None:
    """Find the variant to ship whose win holds at every later look; None without one.

    By the decision rule, without the one look at the plan: the primary goal's z lies beyond the confidence
    sequence (or the group-sequential boundary), no guardrail is broken, no other goal harmed and no health
    check in alarm. Bayesian experiments take the same test: never a p value of a fixed horizon, and
    never a posterior alone. `looks` are those recorded so far.
    """
    data = prepare(experiment, evidence, now=now, looks=looks)
    if data.plan.primary is None or data.plan.control is None:
        return None
    significance = assess_significance(data)
    has_alarm = any(check.status == "alarm" for check in check_health(data, now))
    decision = decide_experiment(data, significance, has_alarm=has_alarm)
    if decision.recommendation != "ship" or not decision.holds_at_every_look:
        return None
    return experiment.variants[decision.variant]


def waits_for_outcomes(experiment: Experiment) -> bool:
    """Tell whether outcomes of the primary goal or a guardrail take days, so that a stop waits."""
    return bool(_days_of_decision(plan_analysis(experiment)).any())


def open_outcomes(experiment: Experiment, evidence: Evidence) -> int:
    """Count the visitors whose outcome of the primary goal or of a guardrail is still to come."""
    return evidence.open_visitors(_days_of_decision(plan_analysis(experiment)))


def _days_of_decision(plan: AnalysisPlan) -> IntArray:
    """Return the days after which outcomes are known, by goal; 0 of goals that no stop rests on."""
    rests_on = (np.arange(len(plan.known_after)) == plan.primary) | plan.is_guardrail
    return np.where(rests_on, plan.known_after, 0)
