"""Messages of experiments that are decided: ship, and roll back."""

import numpy as np

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.goal_facts import beaten
from engine.analysis.report.messages.plan_progress import basis, completing
from engine.analysis.report.messages.revenue_impact import yearly
from engine.analysis.report.messages.variant_sentences import (
    broken_guardrails,
    by_how_much,
    comparison,
    harmed_goals,
    is_small,
    leader_and_control,
    losers,
    named,
    quoted,
    small_change,
)
from engine.analysis.results.formatting import day, listed
from engine.analysis.results.variant_result import VariantResult

DAYS_A_WEEK = 7


def ship(context: DecisionContext) -> Message:
    """Announce the winner that harms nothing."""
    leader, control = leader_and_control(context)
    action = f"{completing(context)} roll {quoted(leader)} out to everyone."
    if context.has_ended:
        action = f"Roll {quoted(leader)} out to everyone."
    return Message(
        headline=winner_headline(context, leader),
        explanation=other_winners(context, leader, control)
        + comparison(context, leader, control)
        + small_change(context, leader)
        + losers(context)
        + basis(context)
        + yearly(context),
        next_step=_first_a_whole_week(context) + action,
    )


def winner_headline(context: DecisionContext, leader: VariantResult) -> str:
    """Name the winner; with the time of its record where later data no longer show a gain."""
    if not context.is_gain(leader):
        when = "at an earlier look" if context.judged_at is None else f"on {day(context.judged_at)}"
        return f"{quoted(leader)} won on {context.goal.name} {when}; later data differ"
    small = ": a proven and small gain" if is_small(context, leader) else ""
    return f"{quoted(leader)} wins on {context.goal.name}{by_how_much(leader)}{small}"


def other_winners(context: DecisionContext, leader: VariantResult, control: VariantResult) -> str:
    """Name the other winners, what they harm, and whether the leader is proven better than they are."""
    others = [one for one in context.where(context.decision.situation.winners) if one is not leader]
    clean = [one for one in others if one in context.where(context.decision.situation.clean_winners)]
    sentences = []
    if clean:
        verb = "beats" if len(clean) == 1 else "beat"
        sentences.append(f"{named(clean)} also {verb} {quoted(control)}")
        better = beaten(context.data, context.decision, context.row)
        unproven = [one for one in clean if one.variant_id not in better]
        proven = [one for one in clean if one.variant_id in better]
        if unproven:
            pair = listed([quoted(one) for one in unproven])
            sentences[-1] += f"; {quoted(leader)} is not proven better than {pair}"
        if proven:
            pair = listed([quoted(one) for one in proven])
            sentences[-1] += f"; {quoted(leader)} is better than {pair} too"
        sentences[-1] += ". "
    for one in [one for one in others if one not in clean]:
        harm = broken_guardrails(context, [one]).strip() or _harmed(context, one)
        sentences.append(
            f"{quoted(one)}{by_how_much(one)} beats {quoted(control)} too, but does harm. {harm} "
        )
    return "".join(sentences)


def _harmed(context: DecisionContext, variant: VariantResult) -> str:
    goals = listed([f"{name} ({change})" for name, change in harmed_goals(context, variant)])
    return f"{quoted(variant)} is worse on {goals}."


def rollback(context: DecisionContext) -> Message:
    """Announce that every variant loses or breaks a guardrail."""
    leader, control = leader_and_control(context)
    failures = context.where(context.decision.situation.failures)
    several = len(failures) > 1
    action = f"{completing(context)} keep {quoted(control)} for everyone."
    if context.has_ended:
        action = f"Keep {quoted(control)} for everyone."
    others = [one for one in failures if one is not leader]
    rest = losers(context, besides=leader) if several else ""
    return Message(
        headline=_rollback_headline(context, leader, control),
        explanation=("The best of them: " if several else "")
        + comparison(context, leader, control)
        + small_change(context, leader)
        + rest
        + broken_guardrails(context, [leader, *others])
        + basis(context)
        + yearly(context),
        next_step=action,
    )


def _rollback_headline(context: DecisionContext, leader: VariantResult, control: VariantResult) -> str:
    situation, goal = context.decision.situation, context.goal.name
    failures = context.where(situation.failures)
    lose = context.where(situation.failures & situation.loses)
    break_one = [one for one in failures if one not in lose]
    if not break_one:
        if len(failures) > 1:
            best = by_how_much(leader) if context.is_loss(leader) else ""
            return f"No variant is as good as {quoted(control)} on {goal}{best}"
        if context.is_loss(leader):
            small = ": a proven and small loss" if is_small(context, leader) else ""
            return f"{quoted(leader)} loses on {goal}{by_how_much(leader)}{small}"
        when = "at an earlier look" if context.judged_at is None else f"on {day(context.judged_at)}"
        return f"{quoted(leader)} lost on {goal} {when}; later data differ"
    if not lose:
        names = listed([quoted(one) for one in break_one])
        return f"{names} {'breaks' if len(break_one) == 1 else 'break'} {_guardrails(context, break_one)}"
    return (
        f"{named(lose)} {'loses' if len(lose) == 1 else 'lose'} on {goal}, and"
        f" {listed([quoted(one) for one in break_one])} {'breaks' if len(break_one) == 1 else 'break'}"
        f" {_guardrails(context, break_one)}"
    )


def _guardrails(context: DecisionContext, variants: list[VariantResult]) -> str:
    columns = [context.variants.index(one) for one in variants]
    broken = np.asarray(context.decision.findings.broken[:, columns].any(axis=1))
    names = [goal.name for goal, is_broken in zip(context.experiment.goals, broken, strict=True) if is_broken]
    return f"the guardrail{'' if len(names) == 1 else 's'} {listed(names)}"


def _first_a_whole_week(context: DecisionContext) -> str:
    days = context.data.days
    if not 0 < days < DAYS_A_WEEK or context.experiment.status == "completed":
        return ""
    covered = "a single day" if days == 1 else f"{days} days"
    return f"The data covers {covered}: if possible, complete a full week first, because weekends differ. "
