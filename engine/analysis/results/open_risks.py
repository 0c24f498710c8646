"""Open risks of shipping a variant: health checks that alarm, and guardrails that it breaks."""

from engine.analysis.results.report import Report
from engine.design.conclusion import OpenRisk


def open_risks(report: Report, variant_id: str) -> tuple[OpenRisk, ...]:
    """List the risks in the order of the report: all checks, then its goals."""
    alarms = [(check.check, check.message) for check in report.health if check.status == "alarm"]
    broken = [(goal.goal.id, goal.breaks[variant_id]) for goal in report.goals if variant_id in goal.breaks]
    return tuple(OpenRisk(risk=risk, message=message) for risk, message in (*alarms, *broken))
