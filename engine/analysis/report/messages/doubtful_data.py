"""Messages of experiments whose data are not to be decided by yet, though no check doubts all of them."""

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.results.formatting import day


def measured_differs(context: DecisionContext) -> Message:
    """Announce that a goal's numbers are of other visitors in a variant than in the control."""
    return Message(
        label="Review",
        tone="warning",
        headline="The variants are measured of different visitors: do not decide by them",
        explanation=" ".join(context.alarms) + _without_verdict(context),
        next_step="Find out which visitors are not measured, and why; decide by a goal of all visitors.",
    )


def _without_verdict(context: DecisionContext) -> str:
    """Say that a recorded verdict does not count; nothing without one."""
    if context.judged_at is None:
        return ""
    return f" The verdict of {day(context.judged_at)} does not count until this is explained."
