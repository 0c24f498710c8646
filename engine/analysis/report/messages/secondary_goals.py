"""Headline and explanation of goals other than the primary one; the action is the experiment's."""

from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.report.messages.open_guardrails import describe_unjudged, shown_with
from engine.analysis.report.messages.reviews import ruled_out
from engine.analysis.report.messages.variant_sentences import (
    allowed_harm,
    broken_guardrails,
    by_how_much,
    comparison,
    in_unit,
    named,
    quoted,
)
from engine.analysis.results.formatting import listed, share
from engine.analysis.results.variant_result import VariantResult
from engine.design.planning.required_sample import POWER

SECONDARY = " This is a secondary goal: the decision rests on the primary goal."
GUARDRAIL = " This is a guardrail: it can only speak against a variant."


def describe_goal(context: DecisionContext) -> tuple[str, str]:
    """Return the headline and the explanation of a goal."""
    leader, control = context.leader, context.control
    is_guardrail = context.data.plan.is_guardrail[context.row]
    if is_guardrail and leader is not None and (unjudged := describe_unjudged(context)) is not None:
        return unjudged[0], unjudged[1] + GUARDRAIL
    if leader is None or control is None or not _known(context):
        reason = next((one.reason for one in context.challengers if one.reason), None)
        because = reason or "there is nothing to compare with the control"
        ending = GUARDRAIL if is_guardrail else SECONDARY
        return f"Not enough data on {context.goal.name}", f"No reliable comparison yet: {because}.{ending}"
    found = leader if leader in _known(context) else _known(context)[0]
    compared = comparison(context, found, control)
    if is_guardrail:
        headline, details = _guardrail(context)
        return headline, compared + details + GUARDRAIL
    headline, details = _secondary(context, found)
    return headline, compared + details + SECONDARY


def _known(context: DecisionContext) -> list[VariantResult]:
    """List the variants with a comparison: enough data for one look, or a finding."""
    findings = context.decision.findings
    settled = context.found(findings.wins | findings.loses | findings.broken)
    return [one for one in context.challengers if one.status != "insufficient_data" or one in settled]


def _guardrail(context: DecisionContext) -> tuple[str, str]:
    broken = context.found(context.decision.findings.broken)
    if broken:
        names = listed([quoted(one) + (by_how_much(one) if context.is_loss(one) else "") for one in broken])
        verb = "breaks" if len(broken) == 1 else "break"
        return f"{names} {verb} the guardrail {context.goal.name}", broken_guardrails(
            context, broken, only=context.row
        )
    allowed = allowed_harm(context, context.row)
    if context.data.plan.requires_non_inferiority:
        shown = len(context.found(context.decision.findings.non_inferior)) == len(context.challengers)
        word = "is shown" if shown else "is not shown"
        power = "" if shown else shown_with(context, context.row)
        return (
            f"{context.goal.name} {word} to be within its margin",
            f" {allowed[0].upper()}{allowed[1:]}{power}.",
        )
    sentence = f" {allowed[0].upper()}{allowed[1:]}; more is not established.{_detectable_harm(context)}"
    return f"No harm beyond the margin found on {context.goal.name}", sentence


def _detectable_harm(context: DecisionContext) -> str:
    """Say which harm is found by the plan: that of the margin, and what is detected beyond it."""
    row, plan, sample = context.row, context.data.plan, context.sample
    harm = float(plan.margins[row] + sample.detectable_harm[row])
    absolute = float(plan.absolute_margins[row] + sample.detectable_loss[row])
    if absolute > 0:
        found = in_unit(context, row, absolute)
    elif harm > 1:
        extreme = "the loss of all of it" if context.wanted > 0 else "a doubling"
        return f" Even {extreme} may be missed by the plan."
    elif harm > 0:
        found = share(harm)
    else:
        return ""
    return f" A harm of {found} is found with {POWER:.0%} power by the plan."


def _secondary(context: DecisionContext, leader: VariantResult) -> tuple[str, str]:
    findings, goal = context.decision.findings, context.goal.name
    wins, loses = (
        context.found(findings.wins & ~findings.loses),
        context.found(findings.loses & ~findings.wins),
    )
    better = [one for one in wins if context.is_gain(one)]
    worse = [one for one in loses if context.is_loss(one)]
    parts = [
        f"{named(some)} {'is' if len(some) == 1 else 'are'} {word}"
        for some, word in ((worse, "worse"), (better, "better"))
        if some
    ]
    if parts:
        return f"{' and '.join(parts)} on {goal}", ""
    same = context.found(findings.equivalent)
    if same and len(same) == len(context.challengers):
        return f"No relevant difference on {goal}", f" {ruled_out(context, same)}"
    if wins or loses:
        return f"No clear difference on {goal} by now", " An earlier look found one; later data differ."
    if leader.status in {"winner", "loser"}:
        one_look = " By this look alone it would count as a difference; that is not established yet."
        if context.sample.is_reached:
            one_look = one_look.replace(" yet", " among all goals")
        return f"No clear difference on {goal}", one_look
    return f"No clear difference on {goal}", ""
