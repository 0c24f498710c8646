"""The sentences of a decision, for someone who runs a product and not statistics.

What two arms did beside each other, in a sentence.
"""

from collections.abc import Callable, Mapping

from engine.analysis.report.decision_context import DecisionContext, Message, both_arms
from engine.analysis.results.formatting import chance, money, share, signed
from engine.analysis.results.report import Recommendation, VariantResult


def by_how_much(lead: VariantResult) -> str:
    """The relative change in brackets; nothing where there is none."""
    return f" ({signed(lead.improvement)})" if lead.improvement is not None else ""


def comparison(facts: DecisionContext, lead: VariantResult, control: VariantResult) -> str:
    """What each arm did, the change, and its range; with what was done to the values before."""
    if facts.goal.goal_type == "revenue":
        did = f"'{lead.variant_name}' brought {_brought(lead, facts)}"
        against = f"'{control.variant_name}' {_brought(control, facts).partition(' per ')[0]}"
    else:
        rate = f"{share(lead.conversion_rate)} of {lead.visitors:,} visitors"
        did = f"{rate} converted with '{lead.variant_name}'"
        against = f"{share(control.conversion_rate)} of {control.visitors:,} with '{control.variant_name}'"
    if lead.improvement is None:
        return f"{did}, and {against}."
    return f"{did}, and {against}: a change of {signed(lead.improvement)}{_range(lead)}{_how(facts, lead)}."


def _brought(variant: VariantResult, facts: DecisionContext) -> str:
    if variant.revenue_per_order_cents is not None:
        return f"{money(variant.revenue_per_order_cents, facts.currency)} per order"
    return f"{money(variant.revenue_per_visitor_cents, facts.currency)} per visitor"


def _range(lead: VariantResult) -> str:
    interval = lead.improvement_interval
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f", most likely between {signed(interval.low)} and {signed(interval.high)}"


def _how(facts: DecisionContext, lead: VariantResult) -> str:
    """Why the change need not be that of the figures before it."""
    ways = []
    if lead.unadjusted is not None:
        ways.append("what visitors did before is taken into account")
    if lead.capped is not None:
        ways.append(f"amounts above {money(lead.capped.cap_cents, facts.currency)} count as that")
    return f" ({', and '.join(ways)})" if ways else ""


DAYS_A_WEEK = 7


def message_for(
    recommendation: Recommendation, facts: DecisionContext, *, is_equivalent: bool = False
) -> Message:
    """Write the sentences; `is_equivalent` where a review says that there is no relevant difference."""
    if recommendation == "review" and is_equivalent:
        return _no_difference(facts)
    return _WORDS[recommendation](facts)


def assess_confidence(facts: DecisionContext) -> str:
    """How sure one can be, and how sure one has to be."""
    lead, control = facts.lead, facts.control
    unknown = "How sure this is can't be said yet."
    if facts.alarms:
        return "These numbers prove nothing until the data can be trusted."
    if lead is None or control is None or lead.status == "insufficient_data":
        return unknown
    if lead.score_value is None or lead.p_value is None:
        return unknown
    allowed = share(1.0 - facts.threshold)
    if facts.experiment.analysis_method == "bayesian":
        pair = f"'{lead.variant_name}' is better than '{control.variant_name}'"
        return (
            f"The chance that {pair} is {chance(lead.score_value)}."
            f" It counts as better from {share(facts.threshold)} on, and as worse up to {allowed}."
        )
    rarity = f"a gap at least this large would still show up in {chance(lead.p_value)} of tests"
    if lead.p_value <= 1.0 - facts.threshold:
        meaning = f"That is within the {allowed} set for a verdict, so the gap is very likely real."
    else:
        meaning = f"That is more than the {allowed} set for a verdict, so the gap may well be chance."
    return f"If the two were equally good, {rarity}. {meaning}"


def _ship(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    action = f"roll '{lead.variant_name}' out to everyone."
    if not facts.has_ended:
        action = f"complete the experiment and {action}"
    return Message(
        label="Ship it",
        tone="positive",
        headline=f"'{lead.variant_name}' wins on {facts.goal.name}{by_how_much(lead)}",
        explanation=comparison(facts, lead, control) + _yearly(facts, lead),
        next_step=_first_a_whole_week(facts) + action[0].upper() + action[1:],
    )


def _rollback(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    several = len(facts.challengers) > 1
    who = f"No variant is as good as '{control.variant_name}'" if several else f"'{lead.variant_name}' loses"
    action = f"eep '{control.variant_name}' for everyone."
    return Message(
        label="Roll back",
        tone="negative",
        headline=f"{who} on {facts.goal.name}{by_how_much(lead)}",
        explanation=("The best of them: " if several else "")
        + comparison(facts, lead, control)
        + _yearly(facts, lead),
        next_step=f"K{action}" if facts.has_ended else f"Complete the experiment and k{action}",
    )


def _keep_running(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    return Message(
        label="Keep running",
        tone="neutral",
        headline=f"No verdict on {facts.goal.name} yet",
        explanation=comparison(facts, lead, control) + " That leaves room for a gain as well as for a loss.",
        next_step=_how_long(facts),
    )


def _how_long(facts: DecisionContext) -> str:
    if facts.days_left is None:
        return "Keep the experiment running: more visitors narrow the range."
    if facts.days_left == 0:
        return (
            "It has the visitors that it needs: complete the experiment, or go on to find a smaller change."
        )
    days = "a day" if facts.days_left == 1 else f"{facts.days_left} days"
    return f"Keep the experiment running for about {days} more: by then it has the visitors that it needs."


def _no_difference(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    visitors = lead.visitors + control.visitors
    action = f"eep '{control.variant_name}', or choose by cost and taste, and test a bolder idea next."
    pair = f"'{lead.variant_name}' and '{control.variant_name}'"
    return Message(
        label="No difference",
        tone="neutral",
        headline=f"No real difference on {facts.goal.name} between {pair}",
        explanation=comparison(facts, lead, control)
        + f" {visitors:,} visitors make that a clear answer: whatever difference there is, it is small.",
        next_step=f"K{action}" if facts.has_ended else f"Complete the experiment and k{action}",
    )


def _review(facts: DecisionContext) -> Message:
    lead, control = both_arms(facts)
    return Message(
        label="Your call",
        tone="warning",
        headline=f"The experiment ended without a clear answer on {facts.goal.name}",
        explanation=comparison(facts, lead, control) + " That leaves room for a gain as well as for a loss.",
        next_step=f"Keep '{control.variant_name}', or run the test again with more visitors.",
    )


def _insufficient_data(facts: DecisionContext) -> Message:
    reasons = [variant.reason for variant in (facts.lead, *facts.challengers) if variant and variant.reason]
    reason = reasons[0] if reasons else "there is nothing to compare with the control"
    next_step = {
        "draft": "Start the experiment.",
        "scheduled": "Wait for the experiment to start.",
        "running": f"Keep the experiment running, and check that {facts.goal.name} is recorded.",
        "paused": "Resume the experiment to collect more.",
    }.get(facts.experiment.status, "Run the test again with more visitors.")
    return Message(
        label="Not enough data",
        tone="neutral",
        headline=f"Not enough data to judge {facts.goal.name}",
        explanation=f"A comparison would mislead: {reason}.",
        next_step=next_step,
    )


def _fix_data(facts: DecisionContext) -> Message:
    return Message(
        label="Fix the data",
        tone="warning",
        headline=f"The data can't be trusted: don't decide on {facts.goal.name} yet",
        explanation=" ".join(facts.alarms),
        next_step="Find and mend the cause (often redirects, caching, bots, or scripts that load too late),"
        " then run the test again.",
    )


_WORDS: Mapping[Recommendation, Callable[[DecisionContext], Message]] = {
    "ship": _ship,
    "rollback": _rollback,
    "keep_running": _keep_running,
    "review": _review,
    "insufficient_data": _insufficient_data,
    "fix_data": _fix_data,
}


def _yearly(facts: DecisionContext, lead: VariantResult) -> str:
    impact = lead.projected_annual_revenue_impact_cents
    if not impact:
        return ""
    word = "more" if impact > 0 else "less"
    return f" At the traffic seen so far that is about {money(abs(impact), facts.currency)} {word} a year."


def _first_a_whole_week(facts: DecisionContext) -> str:
    if facts.has_ended or not 0 < facts.days < DAYS_A_WEEK:
        return ""
    days = "a single day" if facts.days == 1 else f"{facts.days} days"
    return f"The data covers {days}: where you can, finish a whole week first, as weekends differ. "
