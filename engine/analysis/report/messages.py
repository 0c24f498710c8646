"""Messages of recommendations, and the comparison of two variants in a sentence."""

from collections.abc import Callable, Mapping

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.results.formatting import chance, money, share, signed
from engine.analysis.results.report import Recommendation, VariantResult

DAYS_A_WEEK = 7


def leader_and_control(context: DecisionContext) -> tuple[VariantResult, VariantResult]:
    """Return the leader and the control of a goal that has both."""
    if context.leader is None or context.control is None:
        raise ValueError(f"a verdict on '{context.goal.name}' needs a control and a variant to compare")
    return context.leader, context.control


def by_how_much(leader: VariantResult) -> str:
    """Format the relative change in brackets; nothing where there is none."""
    return f" ({signed(leader.improvement)})" if leader.improvement is not None else ""


def comparison(context: DecisionContext, leader: VariantResult, control: VariantResult) -> str:
    """Describe the metric of both variants, the change, its interval and the adjustments."""
    if context.goal.goal_type == "revenue":
        result = f"'{leader.variant_name}' brought {_brought(leader, context)}"
        against = f"'{control.variant_name}' {_brought(control, context).partition(' per ')[0]}"
    else:
        rate = f"{share(leader.conversion_rate)} of {leader.visitors:,} visitors"
        result = f"{rate} converted with '{leader.variant_name}'"
        against = f"{share(control.conversion_rate)} of {control.visitors:,} with '{control.variant_name}'"
    if leader.improvement is None:
        return f"{result}, and {against}."
    change = f"{signed(leader.improvement)}{_precision(context, leader)}"
    return f"{result}, and {against}: a change of {change}."


def _brought(variant: VariantResult, context: DecisionContext) -> str:
    if variant.revenue_per_order_cents is not None:
        return f"{money(variant.revenue_per_order_cents, context.currency)} per order"
    return f"{money(variant.revenue_per_visitor_cents, context.currency)} per visitor"


def _precision(context: DecisionContext, leader: VariantResult) -> str:
    """Describe the interval of the change and the adjustments of its metric, in brackets."""
    facts, interval = [], leader.improvement_interval
    if interval is not None and interval.low is not None and interval.high is not None:
        kind = "credible" if context.experiment.analysis_method == "bayesian" else "confidence"
        bounds = f"{signed(interval.low)} to {signed(interval.high)}"
        facts.append(f"{share(interval.level)} {kind} interval {bounds}")
    if leader.unadjusted is not None:
        facts.append("adjusted for pre-period activity")
    if leader.capped is not None:
        facts.append(f"amounts capped at {money(leader.capped.cap_cents, context.currency)}")
    return f" ({'; '.join(facts)})" if facts else ""


def message_for(context: DecisionContext) -> Message:
    """Write the sentences of the decision."""
    if context.decision.reason == "no_difference":
        return _no_difference(context)
    return _MESSAGES[context.decision.recommendation](context)


def assess_confidence(context: DecisionContext) -> str:
    """Compare the confidence reached with the confidence required."""
    leader, control = context.leader, context.control
    unknown = "Not enough data to assess the confidence yet."
    if context.alarms:
        return "These results are not reliable until the data problem is fixed."
    if leader is None or control is None or leader.status == "insufficient_data":
        return unknown
    if leader.score_value is None or leader.p_value is None:
        return unknown
    allowed = share(1.0 - context.threshold)
    if context.experiment.analysis_method == "bayesian":
        pair = f"'{leader.variant_name}' is better than '{control.variant_name}'"
        return (
            f"{_capitalized(chance(leader.score_value))} chance that {pair}."
            f" A variant counts as better from {share(context.threshold)}, and as worse up to {allowed}."
        )
    if leader.p_value <= 1.0 - context.threshold:
        meaning = f"below the significance level of {allowed}, so the difference is statistically significant"
    else:
        meaning = f"above the significance level of {allowed}, so the difference may be due to chance"
    return (
        f"{_capitalized(chance(leader.p_value))} of tests without a true difference would show one at least"
        f" this large (p-value). That is {meaning}."
    )


def _capitalized(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


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
        next_step=_first_a_whole_week(context) + _capitalized(action),
    )


def _rollback(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    several = len(context.challengers) > 1
    subject = (
        f"No variant is as good as '{control.variant_name}'" if several else f"'{leader.variant_name}' loses"
    )
    action = f"eep '{control.variant_name}' for everyone."
    return Message(
        label="Roll back",
        tone="negative",
        headline=f"{subject} on {context.goal.name}{by_how_much(leader)}",
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
        headline=f"No clear result on {context.goal.name} yet",
        explanation=comparison(context, leader, control) + " Both a gain and a loss are still possible.",
        next_step=_how_long(context),
    )


def _how_long(context: DecisionContext) -> str:
    if context.days_left is None:
        return "Keep the experiment running: more visitors narrow the interval."
    if context.days_left == 0:
        return (
            "The required sample size is reached: complete the experiment, or keep it running to detect a"
            " smaller change."
        )
    days = "1 more day" if context.days_left == 1 else f"{context.days_left} more days"
    return f"Keep the experiment running for about {days} to reach the required sample size."


def _no_difference(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    visitors = leader.visitors + control.visitors
    action = f"eep '{control.variant_name}', or choose by cost, and test a bolder change next."
    pair = f"'{leader.variant_name}' and '{control.variant_name}'"
    return Message(
        label="No difference",
        tone="neutral",
        headline=f"No relevant difference on {context.goal.name} between {pair}",
        explanation=comparison(context, leader, control)
        + f" With {visitors:,} visitors this is a clear result: any difference is small.",
        next_step=f"K{action}" if context.has_ended else f"Complete the experiment and k{action}",
    )


def _review(context: DecisionContext) -> Message:
    leader, control = leader_and_control(context)
    return Message(
        label="Review",
        tone="warning",
        headline=f"The experiment ended without a clear result on {context.goal.name}",
        explanation=comparison(context, leader, control) + " Both a gain and a loss are still possible.",
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
        headline=f"Not enough data on {context.goal.name}",
        explanation=f"No reliable comparison yet: {reason}.",
        next_step=next_step,
    )


def _fix_data(context: DecisionContext) -> Message:
    return Message(
        label="Fix the data",
        tone="warning",
        headline=f"Data problem: do not decide on {context.goal.name} yet",
        explanation=" ".join(context.alarms),
        next_step="Find and fix the cause (often redirects, caching, bots, or scripts that load too late),"
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
    return f" At current traffic this is about {money(abs(impact), context.currency)} {word} a year."


def _first_a_whole_week(context: DecisionContext) -> str:
    if context.has_ended or not 0 < context.days < DAYS_A_WEEK:
        return ""
    days = "a single day" if context.days == 1 else f"{context.days} days"
    return f"The data covers {days}: if possible, complete a full week first, because weekends differ. "
