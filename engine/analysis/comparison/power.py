"""What the visitors so far can show, and how long until they show what matters."""

import numpy as np

from engine.analysis.comparison.metrics import (
    control_column,
    is_revenue,
    metrics_of,
    primary_row,
)
from engine.analysis.comparison.revenue import observed_days
from engine.analysis.evidence.totals import Evidence
from engine.design.experiment import Experiment
from engine.design.planning.sample_size import (
    Mean,
    Metric,
    Plan,
    Share,
    days_to_go,
    detectable_lift,
    visitors_needed,
)
from engine.design.planning.stopping import Stopping

POWER = 0.80
# A change of a tenth of the control's rate or revenue: smaller ones are rarely worth a decision of their own.
RELEVANT_CHANGE = 0.10


def detectable_change(experiment: Experiment, evidence: Evidence) -> float | None:
    """The smallest relative rise of the primary metric found with 80% power, in the smallest arm.

    None without a primary goal, a control, or a spread of the control's metric to plan with.
    """
    known = _metric_and_plan(experiment, evidence)
    if known is None:
        return None
    metric, plan, visitors = known
    lift = float(detectable_lift(metric, visitors, plan))
    return lift if np.isfinite(lift) else None


def sample_to_reach(experiment: Experiment, evidence: Evidence) -> int | None:
    """The visitors of all variants to wait for: those planned, or those who show a RELEVANT_CHANGE."""
    if experiment.statistics.planned_sample is not None:
        return experiment.statistics.planned_sample
    known = _metric_and_plan(experiment, evidence)
    if known is None:
        return None
    metric, plan, visitors = known
    needed = float(visitors_needed(metric, RELEVANT_CHANGE, plan)) * float(evidence.visitors.sum()) / visitors
    return round(needed) if np.isfinite(needed) else None


def days_left(experiment: Experiment, evidence: Evidence) -> int | None:
    """Days until that sample is reached at the pace so far; None where there is no pace or no such sample."""
    days, collected = observed_days(evidence), int(evidence.visitors.sum())
    needed = sample_to_reach(experiment, evidence)
    if needed is None or days == 0:
        return None
    return days_to_go(needed, collected, collected / days)


def _metric_and_plan(experiment: Experiment, evidence: Evidence) -> tuple[Metric, Plan, int] | None:
    """The primary metric, the promise of the test, and the visitors of the control."""
    goal, control = primary_row(experiment), control_column(experiment)
    if goal is None or control is None or len(experiment.variants) < 2:
        return None
    n, smallest = int(evidence.visitors[control]), int(np.delete(evidence.visitors, control).min())
    metrics = metrics_of(experiment, evidence)
    mean, deviation = metrics.moments.mean[goal, control], np.sqrt(metrics.moments.variance[goal, control])
    rate = evidence.conversions[goal, control] / max(n, 1)
    is_mean = is_revenue(experiment)[goal] or metrics.is_adjusted[goal]
    if min(n, smallest) < 2 or not (mean > 0 and deviation > 0 if is_mean else 0 < rate < 1):
        return None
    plan = Plan(
        alpha=(100 - experiment.confidence_level) / 100,
        power=POWER,
        comparisons=len(experiment.variants) - 1,
        ratio=smallest / n,
        stopping=Stopping(
            "fixed" if experiment.statistics.sequential == "none" else experiment.statistics.sequential
        ),
    )
    return Mean(mean, deviation) if is_mean else Share(rate), plan, n
