"""Messages of recommendations with a caveat: guardrails, early looks, several goals."""

from collections.abc import Callable, Mapping
from typing import Literal

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.messages import by_how_much, comparison, leader_and_control
from engine.analysis.results.formatting import share

Caveat = Literal["breaks_guardrail", "harms_only", "too_early", "one_of_many"]


def caveat_message(caveat: Caveat, context: DecisionContext) -> Message:
    """Write the sentences."""
    return _MESSAGES[caveat](context)


def _breaks_guardrail(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    harmed = _listed(context.broken_guardrails[leader.variant_id])
    return Message(
        label="Review",
        tone="warning",
        headline=f"'{leader.variant_name}' wins on {context.goal.name}{by_how_much(leader)}"
        f" but harms {harmed}",
        explanation=comparison(context, leader, control)
        + f" However, {harmed} is worse by more than the allowed margin.",
        next_step=f"Weigh the gain against the harm to {harmed}, or fix that and test again.",
    )


def _harms_only(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    harmed = _listed(context.broken_guardrails[leader.variant_id])
    action = f"eep '{control.variant_name}' for everyone."
    return Message(
        label="Roll back",
        tone="negative",
        headline=f"'{leader.variant_name}' harms {harmed} and does not win on {context.goal.name}",
        explanation=comparison(context, leader, control)
        + f" {harmed} is worse by more than the allowed margin.",
        next_step=f"K{action}" if context.has_ended else f"Complete the experiment and k{action}",
    )


def _too_early(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    seen = sum(variant.visitors for variant in context.variants)
    planned = context.experiment.statistics.planned_sample or seen
    return Message(
        label="Keep running",
        tone="warning",
        headline=f"'{leader.variant_name}' is ahead on {context.goal.name}{by_how_much(leader)},"
        " too early to call",
        explanation=comparison(context, leader, control)
        + f" {share(seen / planned)} of the {planned:,} planned visitors are in; stopping a test as soon as"
        " it looks good causes many more false positives.",
        next_step=f"Keep the experiment running until it has {planned:,} visitors{_in_days(context)}.",
    )


def _one_of_many(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    goals = sum(not goal.is_primary for goal in context.experiment.goals)
    return Message(
        label="Review" if context.has_ended else "Keep running",
        tone="warning" if context.has_ended else "neutral",
        headline=f"The change on {context.goal.name}{by_how_much(leader)} may be due to chance",
        explanation=comparison(context, leader, control)
        + f" Among {goals} secondary goals, some differ this much by chance alone.",
        next_step=f"Decide by the primary goal, or test again with {context.goal.name} as the primary goal.",
    )


_MESSAGES: Mapping[Caveat, Callable[[DecisionContext], Message]] = {
    "breaks_guardrail": _breaks_guardrail,
    "harms_only": _harms_only,
    "too_early": _too_early,
    "one_of_many": _one_of_many,
}


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


def _in_days(context: DecisionContext) -> str:
    if not context.days_left:
        return ""
    return f", in about {context.days_left} day{'s' if context.days_left > 1 else ''} at the current pace"
