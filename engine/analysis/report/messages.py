"""The sentences of a decision, for someone who runs a product and not statistics.

What two arms did beside each other, in a sentence.
"""

from collections.abc import Callable, Mapping

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.results.formatting import chance, money, share, signed
from engine.analysis.results.report import Recommendation, VariantResult


def leader_and_control(context: DecisionContext) -> tuple[VariantResult, VariantResult]:
    """Return the leader and the control of a goal that has both."""
    if context.leader is None or context.control is None:
        raise ValueError(f"a verdict on '{context.goal.name}' needs a control and a variant to compare")
    return context.leader, context.control


def by_how_much(leader: VariantResult) -> str:
    """The relative change in brackets; nothing where there is none."""
    return f" ({signed(leader.improvement)})" if leader.improvement is not None else ""


def comparison(context: DecisionContext, leader: VariantResult, control: VariantResult) -> str:
    """What each arm did, the change, and its range; with what was done to the values before."""
    if context.goal.goal_type == "revenue":
        did = f"'{leader.variant_name}' brought {_brought(leader, context)}"
        against = f"'{control.variant_name}' {_brought(control, context).partition(' per ')[0]}"
    else:
        rate = f"{share(leader.conversion_rate)} of {leader.visitors:,} visitors"
        did = f"{rate} converted with '{leader.variant_name}'"
        against = f"{share(control.conversion_rate)} of {control.visitors:,} with '{control.variant_name}'"
    if leader.improvement is None:
        return f"{did}, and {against}."
    change = f"{signed(leader.improvement)}{_range(leader)}{_adjustments(context, leader)}"
    return f"{did}, and {against}: a change of {change}."


def _brought(variant: VariantResult, context: DecisionContext) -> str:
    if variant.revenue_per_order_cents is not None:
        return f"{money(variant.revenue_per_order_cents, context.currency)} per order"
    return f"{money(variant.revenue_per_visitor_cents, context.currency)} per visitor"


def _range(leader: VariantResult) -> str:
    interval = leader.improvement_interval
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f", most likely between {signed(interval.low)} and {signed(interval.high)}"


def _adjustments(context: DecisionContext, leader: VariantResult) -> str:
    """Why the change need not be that of the figures before it."""
    ways = []
    if leader.unadjusted is not None:
        ways.append("what visitors did before is taken into account")
    if leader.capped is not None:
        ways.append(f"amounts above {money(leader.capped.cap_cents, context.currency)} count as that")
    return f" ({', and '.join(ways)})" if ways else ""


DAYS_A_WEEK = 7


def message_for(
    recommendation: Recommendation, context: DecisionContext, *, is_equivalent: bool = False
) -> Message:
    """Write the sentences; `is_equivalent` where a review says that there is no relevant difference."""
    if recommendation == "review" and is_equivalent:
        return _no_difference(context)
    return _MESSAGES[recommendation](context)


def assess_confidence(context: DecisionContext) -> str:
    """How sure one can be, and how sure one has to be."""
    leader, control = context.leader, context.control
    unknown = "How sure this is can't be said yet."
    if context.alarms:
        return "These numbers prove nothing until the data can be trusted."
    if leader is None or control is None or leader.status == "insufficient_data":
        return unknown
    if leader.score_value is None or leader.p_value is None:
        return unknown
    allowed = share(1.0 - context.threshold)
    if context.experiment.analysis_method == "bayesian":
        pair = f"'{leader.variant_name}' is better than '{control.variant_name}'"
        return (
            f"The chance that {pair} is {chance(leader.score_value)}."
            f" It counts as better from {share(context.threshold)} on, and as worse up to {allowed}."
        )
    rarity = f"a gap at least this large would still show up in {chance(leader.p_value)} of tests"
    if leader.p_value <= 1.0 - context.threshold:
        meaning = f"That is within the {allowed} set for a verdict, so the gap is very likely real."
    else:
        meaning = f"That is more than the {allowed} set for a verdict, so the gap may well be chance."
    return f"If the two were equally good, {rarity}. {meaning}"


def _ship(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    action = f"roll '{leader.variant_name}' out to everyone."
    if not context.has_ended:
        action = f"complete the experiment and {action}"
    return Message(
        label="Ship it",
        tone="positive",
        headline=f"'{leader.variant_name}' wins on {context.goal.name}{by_how_much(leader)}",
        explanation=comparison(context, leader, control) + _yearly(context, leader),
        next_step=_first_a_whole_week(context) + action[0].upper() + action[1:],
    )


def _rollback(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    several = len(context.challengers) > 1
    who = (
        f"No variant is as good as '{control.variant_name}'" if several else f"'{leader.variant_name}' loses"
    )
    action = f"eep '{control.variant_name}' for everyone."
    return Message(
        label="Roll back",
        tone="negative",
        headline=f"{who} on {context.goal.name}{by_how_much(leader)}",
        explanation=("The best of them: " if several else "")
        + comparison(context, leader, control)
        + _yearly(context, leader),
        next_step=f"K{action}" if context.has_ended else f"Complete the experiment and k{action}",
    )


def _keep_running(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    return Message(
        label="Keep running",
        tone="neutral",
        headline=f"No verdict on {context.goal.name} yet",
        explanation=comparison(context, leader, control)
        + " That leaves room for a gain as well as for a loss.",
        next_step=_how_long(context),
    )


def _how_long(context: DecisionContext) -> str:
    if context.days_left is None:
        return "Keep the experiment running: more visitors narrow the range."
    if context.days_left == 0:
        return (
            "It has the visitors that it needs: complete the experiment, or go on to find a smaller change."
        )
    days = "a day" if context.days_left == 1 else f"{context.days_left} days"
    return f"Keep the experiment running for about {days} more: by then it has the visitors that it needs."


def _no_difference(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    visitors = leader.visitors + control.visitors
    action = f"eep '{control.variant_name}', or choose by cost and taste, and test a bolder idea next."
    pair = f"'{leader.variant_name}' and '{control.variant_name}'"
    return Message(
        label="No difference",
        tone="neutral",
        headline=f"No real difference on {context.goal.name} between {pair}",
        explanation=comparison(context, leader, control)
        + f" {visitors:,} visitors make that a clear answer: whatever difference there is, it is small.",
        next_step=f"K{action}" if context.has_ended else f"Complete the experiment and k{action}",
    )


def _review(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    return Message(
        label="Your call",
        tone="warning",
        headline=f"The experiment ended without a clear answer on {context.goal.name}",
        explanation=comparison(context, leader, control)
        + " That leaves room for a gain as well as for a loss.",
        next_step=f"Keep '{control.variant_name}', or run the test again with more visitors.",
    )


def _insufficient_data(context: DecisionContext) -> Message:
    reasons = [
        variant.reason for variant in (context.leader, *context.challengers) if variant and variant.reason
    ]
    reason = reasons[0] if reasons else "there is nothing to compare with the control"
    next_step = {
        "draft": "Start the experiment.",
        "scheduled": "Wait for the experiment to start.",
        "running": f"Keep the experiment running, and check that {context.goal.name} is recorded.",
        "paused": "Resume the experiment to collect more.",
    }.get(context.experiment.status, "Run the test again with more visitors.")
    return Message(
        label="Not enough data",
        tone="neutral",
        headline=f"Not enough data to judge {context.goal.name}",
        explanation=f"A comparison would mislead: {reason}.",
        next_step=next_step,
    )


def _fix_data(context: DecisionContext) -> Message:
    return Message(
        label="Fix the data",
        tone="warning",
        headline=f"The data can't be trusted: don't decide on {context.goal.name} yet",
        explanation=" ".join(context.alarms),
        next_step="Find and mend the cause (often redirects, caching, bots, or scripts that load too late),"
        " then run the test again.",
    )


_MESSAGES: Mapping[Recommendation, Callable[[DecisionContext], Message]] = {
    "ship": _ship,
    "rollback": _rollback,
    "keep_running": _keep_running,
    "review": _review,
    "insufficient_data": _insufficient_data,
    "fix_data": _fix_data,
}


def _yearly(context: DecisionContext, leader: VariantResult) -> str:
    impact = leader.projected_annual_revenue_impact_cents
    if not impact:
        return ""
    word = "more" if impact > 0 else "less"
    return f" At the traffic seen so far that is about {money(abs(impact), context.currency)} {word} a year."


def _first_a_whole_week(context: DecisionContext) -> str:
    if context.has_ended or not 0 < context.days < DAYS_A_WEEK:
        return ""
    days = "a single day" if context.days == 1 else f"{context.days} days"
    return f"The data covers {days}: where you can, finish a whole week first, as weekends differ. "
