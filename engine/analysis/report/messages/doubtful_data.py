"""Messages of experiments whose data are not to be decided by yet, though no check doubts all of them."""

import numpy as np

from engine.analysis.health.one_visitor import describe_finding
from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.messages.variant_sentences import comparison, leader_and_control, quoted
from engine.analysis.results.formatting import day


def measured_differs(context: DecisionContext) -> Message:
    """Announce that a goal's numbers are of other visitors in a variant than in the control."""
    return Message(
        headline="The variants are measured of different visitors: do not decide by them",
        explanation=" ".join(context.alarms) + _without_verdict(context),
        next_step="Find out which visitors are not measured, and why; decide by a goal of all visitors.",
    )


def one_visitor(context: DecisionContext) -> Message:
    """Announce a win or a loss that one visitor makes, with the figures without that one."""
    leader, control = leader_and_control(context)
    influence, data = context.decision.influence, context.data
    if influence is None:
        raise ValueError("one visitor makes a finding only where the largest visitors are known")
    sentences = [
        describe_finding(data.experiment, data.evidence, influence.weakest_of(goal, data.plan), goal, variant)
        for goal, variant in np.argwhere(context.decision.turns).tolist()
    ]
    return Message(
        headline=f"The result of {quoted(leader)} on {context.goal.name} rests on one visitor",
        explanation=" ".join([comparison(context, leader, control), *sentences]) + _without_verdict(context),
        next_step="Find out who that is: exclude a robot or a test order, and the verdict follows; for a real"
        " customer, set a cap before the next test.",
    )


def _without_verdict(context: DecisionContext) -> str:
    """Say that a recorded verdict does not count; nothing without one."""
    if context.judged_at is None:
        return ""
    return f" The verdict of {day(context.judged_at)} does not count until this is explained."
