"""The sentences of a decision that takes more into account than the numbers of its goal."""

from collections.abc import Callable, Mapping
from typing import Literal

from engine.analysis.report.decision_context import DecisionContext, Message, both_arms
from engine.analysis.report.messages import by_how_much, comparison
from engine.analysis.results.formatting import share

Caveat = Literal["breaks_guardrail", "harms_only", "too_early", "one_of_many"]


def words_with(caveat: Caveat, facts: DecisionContext) -> Message:
    """Write the sentences."""
    return _WORDS[caveat](facts)


def _breaks_guardrail(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    harmed = _listed(facts.broken[lead.variant_id])
    return Message(
        label="Your call",
        tone="warning",
        headline=f"'{lead.variant_name}' wins on {facts.goal.name}{by_how_much(lead)} but harms {harmed}",
        explanation=comparison(facts, lead, control)
        + f" Yet {harmed} is worse by more than you said you would accept.",
        next_step=f"Weigh the gain against the harm to {harmed}, or mend that and test again.",
    )


def _harms_only(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    harmed = _listed(facts.broken[lead.variant_id])
    action = f"eep '{control.variant_name}' for everyone."
    return Message(
        label="Roll back",
        tone="negative",
        headline=f"'{lead.variant_name}' harms {harmed} and does not win on {facts.goal.name}",
        explanation=comparison(facts, lead, control)
        + f" Meanwhile {harmed} is worse by more than you said you would accept.",
        next_step=f"K{action}" if facts.has_ended else f"Complete the experiment and k{action}",
    )


def _too_early(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    seen = sum(variant.visitors for variant in facts.variants)
    planned = facts.experiment.statistics.planned_sample or seen
    return Message(
        label="Keep running",
        tone="warning",
        headline=f"'{lead.variant_name}' is ahead on {facts.goal.name}{by_how_much(lead)}, too early to call",
        explanation=comparison(facts, lead, control)
        + f" This is {share(seen / planned)} of the {planned:,} planned visitors, and tests that end as soon"
        " as they look good are wrong far more often than they say.",
        next_step=f"Keep the experiment running until it has its {planned:,} visitors{_in_days(facts)}.",
    )


def _one_of_many(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    goals = sum(not goal.is_primary for goal in facts.experiment.goals)
    return Message(
        label="Your call" if facts.has_ended else "Keep running",
        tone="warning" if facts.has_ended else "neutral",
        headline=f"A change on {facts.goal.name}{by_how_much(lead)} that may well be chance",
        explanation=comparison(facts, lead, control)
        + f" Among {goals} secondary goals some differ this much by chance alone.",
        next_step=f"Decide by the primary goal, or test again with {facts.goal.name} as the primary goal.",
    )


_WORDS: Mapping[Caveat, Callable[[DecisionContext], Message]] = {
    "breaks_guardrail": _breaks_guardrail,
    "harms_only": _harms_only,
    "too_early": _too_early,
    "one_of_many": _one_of_many,
}


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


def _in_days(facts: DecisionContext) -> str:
    if not facts.days_left:
        return ""
    return f", in about {facts.days_left} day{'s' if facts.days_left > 1 else ''} at the present pace"
