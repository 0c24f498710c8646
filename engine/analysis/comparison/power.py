"""Power: the detectable change, and days left until the planned sample."""

from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
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


@dataclass(frozen=True, slots=True)
class Power:
    """Power of the visitors so far.

    `detectable_change` is the smallest relative rise of the primary metric found with 80% power, in the
    smallest arm; None without a primary goal, a control, or a spread of the control's metric to plan with.
    `days_left` are those until the planned sample, or the one that shows a RELEVANT_CHANGE, is reached at
    the pace so far; None where there is no pace or no such sample.
    """

    detectable_change: float | None
    days_left: int | None


def assess_power(data: AnalysisData) -> Power:
    """Compute the change that the visitors so far can show, and the days to the sample to reach."""
    planned = data.plan.statistics.planned_sample
    metric_and_plan = _metric_and_plan(data)
    if metric_and_plan is None:
        return Power(detectable_change=None, days_left=_days_left(data, planned))
    metric, plan, visitors = metric_and_plan
    lift = float(detectable_lift(metric, visitors, plan))
    if planned is None:
        together = float(data.evidence.visitors.sum())
        needed = float(visitors_needed(metric, RELEVANT_CHANGE, plan)) * together / visitors
        planned = round(needed) if np.isfinite(needed) else None
    return Power(
        detectable_change=lift if np.isfinite(lift) else None,
        days_left=_days_left(data, planned),
    )


def _days_left(data: AnalysisData, needed: int | None) -> int | None:
    collected = int(data.evidence.visitors.sum())
    if needed is None or data.days == 0:
        return None
    return days_to_go(needed, collected, collected / data.days)


def _metric_and_plan(data: AnalysisData) -> tuple[Metric, Plan, int] | None:
    """Build the primary metric and the plan of the test, with the control's visitors."""
    plan, visitors = data.plan, data.evidence.visitors
    goal, control = plan.primary, plan.control
    if goal is None or control is None or len(visitors) < 2:
        return None
    n, smallest = int(visitors[control]), int(visitors[plan.challengers].min())
    moments, is_mean = data.metrics.moments, bool(data.is_mean[goal])
    mean, deviation = moments.mean[goal, control], np.sqrt(moments.variance[goal, control])
    rate = data.evidence.conversions[goal, control] / max(n, 1)
    if min(n, smallest) < 2 or not (mean > 0 and deviation > 0 if is_mean else 0 < rate < 1):
        return None
    sequential = plan.statistics.sequential
    test = Plan(
        alpha=plan.family_alpha,
        power=POWER,
        comparisons=len(visitors) - 1,
        ratio=smallest / n,
        stopping=Stopping("fixed" if sequential == "none" else sequential),
    )
    return Mean(mean, deviation) if is_mean else Share(rate), test, n
