"""Messages of experiments to be reviewed, one for each reason."""

import math
from collections.abc import Sequence

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.goal_facts import remaining_lift_intervals
from engine.analysis.report.messages.plan_progress import (
    at_most_99,
    basis,
    completing,
    counted,
    found_by_plan,
)
from engine.analysis.report.messages.revenue_impact import yearly
from engine.analysis.report.messages.unfinished import DECIDE_BY_ALL, SEGMENT
from engine.analysis.report.messages.variant_sentences import (
    broken_guardrails,
    by_how_much,
    comparison,
    harmed_goals,
    leader_and_control,
    losers,
    quoted,
    unsettled,
    won_and_lost,
)
from engine.analysis.report.messages.verdicts import winner_headline
from engine.analysis.results.formatting import day, listed
from engine.analysis.results.variant_result import VariantResult


def no_difference(context: DecisionContext) -> Message:
    """Announce that no variant differs by as much as matters."""
    leader, control = leader_and_control(context)
    same = context.where(context.decision.situation.without_difference)
    pair = f"between {quoted(leader)} and {quoted(control)}"
    headline = f"No relevant difference on {context.goal.name} "
    if len(context.challengers) > len(same):
        headline = f"No variant is better than {quoted(control)} on {context.goal.name}"
    else:
        headline += pair if len(same) == 1 else f"between any variant and {quoted(control)}"
    action = f"eep {quoted(control)}, or choose by cost, and test a bolder change next."
    failed = [one for one in context.challengers if one not in same]
    return Message(
        headline=headline,
        explanation=comparison(context, leader, control)
        + f" {ruled_out(context, same)}"
        + _beside_no_difference(leader)
        + losers(context)
        + broken_guardrails(context, failed)
        + basis(context),
        next_step=f"K{action}" if context.has_ended else f"{completing(context)} k{action}",
    )


def _beside_no_difference(leader: VariantResult) -> str:
    """Say that this look alone shows a difference, however small."""
    if leader.status not in {"winner", "loser"}:
        return ""
    word = "better" if leader.status == "winner" else "worse"
    return f" By this look alone {quoted(leader)} is {word}, by less than matters."


def ruled_out(context: DecisionContext, variants: Sequence[VariantResult]) -> str:
    """Name the rise and the fall that are ruled out: the widest bounds of these variants.

    Rounded outwards, so that no more is claimed than is established.
    """
    margin = float(context.sample.equivalence_margins[context.row])
    bounds = remaining_lift_intervals(context.data, context.decision, context.row)
    found = [bounds[context.variants.index(one)] for one in variants]
    highs = [one.high for one in found if one is not None and one.high is not None]
    lows = [one.low for one in found if one is not None and one.low is not None]
    high = max(highs) if len(highs) == len(variants) else margin
    low = min(lows) if len(lows) == len(variants) else -margin
    # What an earlier look established is kept, though later data may leave more room.
    high, low = min(high, margin), max(low, -margin)
    rise = f"a rise beyond {_outwards(high)}" if high > 0 else "any rise"
    fall = f"a fall beyond {_outwards(-low)}" if low < 0 else "any fall"
    text = f"{rise} and {fall} are each ruled out (95%)."
    if len(variants) > 1:
        text = f"for every one of them {text}"
    recorded = context.sample.recorded
    if (
        context.judged_at is not None
        and recorded is not None
        and context.sample.at_plan != context.sample.collected
    ):
        text = f"by the look of {day(context.judged_at)} {text}"
    return text[0].upper() + text[1:]


def _outwards(value: float) -> str:
    percent = math.ceil(1000 * value - 1e-9) / 10
    return f"{percent:.1f}".removesuffix(".0") + "%"


def undecided(context: DecisionContext) -> Message:
    """Announce that the plan was reached without a clear result."""
    leader, control = leader_and_control(context)
    ended = context.has_ended or context.sample.source == "finished"
    headline = (
        f"The experiment ended without a clear result on {context.goal.name}"
        if ended
        else f"The plan is reached without a clear result on {context.goal.name}"
    )
    keep = f"eep {quoted(control)}, or run a new test with more visitors or a bolder change."
    return Message(
        headline=headline,
        explanation=comparison(context, leader, control)
        + losers(context)
        + unsettled(context, besides=leader).replace(" yet", "")
        + _single_look(context, leader)
        + (_no_test(leader) or found_by_plan(context)),
        next_step=f"K{keep}" if context.has_ended else f"{completing(context)} k{keep}",
    )


def _no_test(leader: VariantResult) -> str:
    """Say why there is no test, where there is none."""
    if leader.p_value is not None or leader.reason is None:
        return ""
    return f" {leader.reason[0].upper()}{leader.reason[1:]}."


def _single_look(context: DecisionContext, leader: VariantResult) -> str:
    """Say why a winner or loser of this look is none of the decision."""
    if leader.status not in {"winner", "loser"} or won_and_lost(context, leader):
        return won_and_lost(context, leader)
    word = "ahead" if leader.status == "winner" else "behind"
    counts = "not clearly enough for the one test at the plan"
    if context.judged_at is not None:
        counts = "after the plan only what holds at every look counts"
    return f" {quoted(leader)} is {word} at this look, but {counts}."


def guardrail_broken(context: DecisionContext) -> Message:
    """Announce a winner that breaks guardrails."""
    leader, control = leader_and_control(context)
    column = context.variants.index(leader)
    broken = context.decision.findings.broken[:, column]
    names = [goal.name for goal, is_broken in zip(context.experiment.goals, broken, strict=True) if is_broken]
    broken_ones = f"{'guardrail' if len(names) == 1 else 'guardrails'} {listed(names)}"
    return Message(
        headline=f"{winner_headline(context, leader)}, but breaks the {broken_ones}",
        explanation=comparison(context, leader, control)
        + broken_guardrails(context, [leader, *_others(context, leader)])
        + losers(context)
        + basis(context)
        + yearly(context),
        next_step=f"Do not ship {quoted(leader)} as it is: fix what harms {listed(names)}, and test again.",
    )


def goal_harmed(context: DecisionContext) -> Message:
    """Announce a winner that harms other goals."""
    leader, control = leader_and_control(context)
    harmed = harmed_goals(context, leader)
    names = listed([name for name, _ in harmed])
    details = "; ".join(f"{name}, {change}" for name, change in harmed)
    return Message(
        headline=f"{winner_headline(context, leader)}, but harms {names}",
        explanation=comparison(context, leader, control)
        + f" {quoted(leader)} is worse on {details}."
        + broken_guardrails(context, _others(context, leader))
        + losers(context)
        + basis(context)
        + yearly(context),
        next_step=f"Weigh the gain on {context.goal.name} against the loss on {names} before shipping"
        f" {quoted(leader)}.",
    )


def _others(context: DecisionContext, leader: VariantResult) -> list[VariantResult]:
    return [one for one in context.challengers if one is not leader]


def ended_early(context: DecisionContext) -> Message:
    """Announce that the experiment ended before its plan."""
    leader, control = leader_and_control(context)
    required, share = context.sample.required_visitors, context.sample.progress
    at, so_far, again = "before its plan", "", "Run the test again, up to its plan"
    if not context.sample.is_first_week_over:
        at, again = "in its first week", "Run the test again for a full week at least"
    if required is not None and share is not None and context.sample.collected < required:
        again = "Run the test again, up to its plan"
        at = f"at {at_most_99(share)} of its plan"
        so_far = f" ({context.sample.collected:,} of {required:,} {counted(context)})"
        again += f" of {required:,} {counted(context)}"
    return Message(
        headline=f"The experiment ended {at}: no clear result on {context.goal.name}",
        explanation=comparison(context, leader, control)
        + f" Ended {at}{so_far}: treat this as a hint."
        + losers(context)
        + unsettled(context, besides=leader).replace(" yet", ""),
        next_step=f"{again}, or keep {quoted(control)}.",
    )


def exploratory(context: DecisionContext) -> Message:
    """Announce results of a segment, on which no action rests."""
    leader, control = leader_and_control(context)
    situation, column = context.decision.situation, context.variants.index(leader)
    if situation.winners[column] and context.is_gain(leader):
        found = f"{quoted(leader)} looks better on {context.goal.name}{by_how_much(leader)}"
    elif situation.failures[column] and situation.loses[column] and context.is_loss(leader):
        found = f"{quoted(leader)} looks worse on {context.goal.name}{by_how_much(leader)}"
    elif situation.without_difference[column]:
        found = f"no relevant difference on {context.goal.name}"
    else:
        found = f"no clear result on {context.goal.name}"
    return Message(
        headline=f"In this segment {found}",
        explanation=comparison(context, leader, control)
        + SEGMENT
        + broken_guardrails(context, context.where(situation.is_broken)),
        next_step=DECIDE_BY_ALL,
    )
