"""Lines of a report in a terminal: verdict, next step, the goals with their p values, and health."""

from collections.abc import Iterator
from typing import Final

from engine.analysis.results.formatting import chance, interval_text, p_text, signed, signed_figure
from engine.analysis.results.goal_limits import row_status
from engine.analysis.results.goal_order import DECIDED, important_first
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.variant_result import VariantResult

# Besides these, three lines of the verdict and one of the data.
_MOST_GOALS: Final = 6
_MOST_OF_PRIMARY: Final = 5
_MOST_OF_OTHERS: Final = 2


def lines_of_report(report: Report) -> Iterator[str]:
    """Describe a report in at most ten lines; of many goals those that a decision is about come first."""
    name = report.experiment.name
    if report.primary is None:
        yield f"{name}: no goal yet"
        return
    decision = report.primary.decision
    yield f"{name}: {decision.recommendation_label}"
    yield decision.headline
    yield f"Next: {decision.next_step}"
    goals = important_first(report)
    # A line that counts the rest takes the place of one goal.
    shown = goals if len(goals) <= _MOST_GOALS else goals[: _MOST_GOALS - 1]
    yield from (_goal_line(report, goal) for goal in shown)
    if len(goals) > len(shown):
        yield f"… and {len(goals) - len(shown)} more goals"
    yield _data_line(report)


def _goal_line(report: Report, goal: GoalReport) -> str:
    most = _MOST_OF_PRIMARY if goal.goal.is_primary else _MOST_OF_OTHERS
    compared = [one for one in goal.variants if change_of(one)[0]]
    if not goal.goal.is_primary:
        compared.sort(key=lambda one: row_status(report, goal, one) not in DECIDED)
    parts = [_change_text(report, one) for one in compared[:most]]
    if len(compared) > most:
        parts.append(f"and {len(compared) - most} more")
    kind = " (guardrail)" if goal.goal.is_guardrail else ""
    return f"{goal.goal.name}{kind}: {'; '.join(parts) or 'no change to report yet'}"


def _change_text(report: Report, variant: VariantResult) -> str:
    """Format a change with its interval and p value; of Bayesian tests the chance to beat the control."""
    change, bounds = change_of(variant)
    beside = [bounds] if bounds else []
    if report.experiment.analysis_method == "bayesian" and variant.chance_to_beat is not None:
        beside.append(f"{chance(variant.chance_to_beat)} chance to beat the control")
    elif variant.p_value is not None:
        beside.append(f"p {p_text(variant.p_value, 1.0 - report.effective_confidence_threshold)}")
    return f"{variant.variant_name} {change}" + (f" ({', '.join(beside)})" if beside else "")


def change_of(variant: VariantResult) -> tuple[str, str]:
    """Format the relative change and its interval; the difference of means that have none."""
    if variant.improvement is not None:
        return signed(variant.improvement), interval_text(variant.improvement_interval)
    difference, bounds = variant.compared.absolute_difference, variant.compared.absolute_difference_interval
    if variant.metric.unit != "number" or difference is None:
        return "", ""
    ends = () if bounds is None else (bounds.low, bounds.high)
    return signed_figure(difference), " to ".join(signed_figure(end) for end in ends if end is not None)


def _data_line(report: Report) -> str:
    visitors = 0 if report.primary is None else report.primary.decision.visitors
    in_clusters = "" if report.clustered_by is None else f" in {report.plan.clusters:,} {report.plan.unit}"
    goals = "1 goal" if len(report.goals) == 1 else f"{len(report.goals)} goals"
    alarms = sum(one.is_open for one in report.health)
    warnings = "1 health warning" if alarms == 1 else f"{alarms} health warnings"
    return f"{visitors:,} visitors{in_clusters}, {goals}, {warnings}; .goals, .health, .to_polars()"
