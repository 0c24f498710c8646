"""Order of goals by importance: the primary goal, guardrails, and goals with a decided variant."""

from typing import Final

from engine.analysis.results.goal_limits import row_status
from engine.analysis.results.report import GoalReport, Report

DECIDED: Final = frozenset({"winner", "loser", "harmed"})


def important_first(report: Report) -> list[GoalReport]:
    """List the primary goal, guardrails, and the others; in each those with a decided variant first."""
    return sorted(
        report.goals,
        key=lambda one: (not one.goal.is_primary, not one.goal.is_guardrail, not _is_decided(report, one)),
    )


def _is_decided(report: Report, goal: GoalReport) -> bool:
    return any(row_status(report, goal, one) in DECIDED for one in goal.variants)
