"""Limits of a goal as changes: too small to matter, and where a guardrail is harmed; statuses by them."""

from dataclasses import dataclass
from typing import Final

from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.segment_report import SegmentStatus
from engine.analysis.results.status_words import RowStatus, rests_on_numbers, shown_status
from engine.analysis.results.variant_result import Interval, VariantResult, VariantStatus

_NOWHERE: Final = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalLimits:
    """Changes as shares: within `margin` to each side too small to matter, beyond `guardrail` harm."""

    margin: float | None
    guardrail: float | None


def limits_of(report: Report, goal: GoalReport) -> GoalLimits:
    """Read the limits of a goal; a guardrail has one alone, None where the control's mean is not above 0."""
    if goal.goal.is_guardrail:
        return GoalLimits(margin=None, guardrail=harmful_change(goal))
    own = goal.goal.config.get("minimum_effect_percent")
    usual = report.experiment.statistics.minimum_effect_percent
    margin = report.plan.minimum_effect if goal.goal.is_primary else (own or usual) / 100
    return GoalLimits(margin=margin, guardrail=None)


def is_lower_better(goal: GoalReport) -> bool:
    """Tell whether the goal is to fall."""
    return goal.goal.config.get("direction") == "decrease"


def row_status(
    report: Report, goal: GoalReport, variant: VariantResult
) -> VariantStatus | SegmentStatus | RowStatus:
    """Return the status of a variant on a goal as its row shows it, beside the verdict."""
    status = shown_status(variant.status, goal.decision)
    is_decided = rests_on_numbers(goal.decision.recommendation, goal.decision.reason)
    if variant.is_control or status == "insufficient_data" or not is_decided:
        return status
    limits, interval = limits_of(report, goal), interval_to_judge(report, variant)
    if goal.goal.is_guardrail:
        return _beside_limit(limits.guardrail, interval)
    if status != "inconclusive" or interval is None or limits.margin is None:
        return status
    low, high = bounds_of(interval)
    return "same" if -limits.margin < low and high < limits.margin else status


def interval_to_judge(report: Report, variant: VariantResult) -> Interval | None:
    """Return the interval of the one look at the plan; before it, that of every look."""
    at_one_look = variant.improvement_interval
    return at_one_look if report.plan.is_reached else variant.compared.sequential_interval or at_one_look


def bounds_of(interval: Interval) -> tuple[float, float]:
    """Return both ends of an interval; infinite where it is open."""
    low = -_NOWHERE if interval.low is None else interval.low
    return low, _NOWHERE if interval.high is None else interval.high


def harmful_change(goal: GoalReport) -> float | None:
    """Return the change at which harm begins, in the direction that is not wanted."""
    side = 1.0 if is_lower_better(goal) else -1.0
    config = goal.goal.config
    if config.get("guardrail_margin_percent") is not None:
        return float(side * config["guardrail_margin_percent"] / 100)
    control = next((one.metric.value for one in goal.variants if one.is_control), None)
    if control is None or control <= 0:
        return None
    absolute = config["guardrail_margin_absolute"] / (100 if goal.goal.unit == "share" else 1)
    return float(side * absolute / control)


def _beside_limit(limit: float | None, interval: Interval | None) -> VariantStatus | RowStatus:
    """Compare a guardrail's interval with its limit: on its safe side, beyond it, or on both."""
    if limit is None or interval is None:
        return "inconclusive"
    low, high = bounds_of(interval)
    nearest, farthest = (limit - high, limit - low) if limit > 0 else (low - limit, high - limit)
    if nearest > 0:
        return "safe"
    return "harmed" if farthest < 0 else "inconclusive"
