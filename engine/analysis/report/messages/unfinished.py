"""Messages of experiments that cannot be decided yet: keep running, too little data, wrong data."""

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.messages.plan_progress import first_outcomes, first_week, how_long, progress
from engine.analysis.report.messages.variant_sentences import (
    broken_guardrails,
    by_how_much,
    comparison,
    leader_and_control,
    losers,
    named,
    quoted,
    unsettled,
    won_and_lost,
)
from engine.analysis.results.formatting import day, listed
from engine.analysis.results.variant_result import VariantResult

SEGMENT = " These are some of the visitors only: exploratory, so no action rests on it."
DECIDE_BY_ALL = "Decide by the results of all visitors; confirm what a segment shows in a test of its own."
CAUSE = "Find and fix the cause (often redirects, caching, bots, or scripts that load too late)"
CAUSE_IN_TABLE = (
    "Find and fix the cause (often rows lost by a join, a filter or an export, bots, or the assignment)"
)


def keep_running(context: DecisionContext) -> Message:
    """Announce that the experiment is to go on to its plan, and how far it is."""
    leader, control = leader_and_control(context)
    if context.decision.situation.is_outcome_open:
        return _no_outcome_yet(context)
    missing = leader.status == "insufficient_data"
    own = "" if missing else comparison(context, leader, control)
    situation, is_segment = context.decision.situation, bool(context.decision.situation.is_exploratory)
    rest = losers(context) + broken_guardrails(context, context.where(situation.failures))
    rest += unsettled(context, besides=None if missing else leader)
    return Message(
        headline=_headline(context, leader),
        explanation=(
            own + _why(context, leader) + rest + (SEGMENT if is_segment else progress(context))
        ).strip(),
        next_step=DECIDE_BY_ALL if is_segment else how_long(context),
    )


def _no_outcome_yet(context: DecisionContext) -> Message:
    """Announce that visitors entered whose outcomes are all still to come, and when the first are known."""
    entered = f"{context.data.evidence.visitors.sum():,} visitors have entered so far."
    return Message(
        headline=f"No outcome of {context.goal.name} is known yet",
        explanation=f"{first_outcomes(context, context.goal)} {entered}{progress(context)}",
        next_step=how_long(context),
    )


def _headline(context: DecisionContext, leader: VariantResult) -> str:
    goal, situation = context.goal.name, context.decision.situation
    failures = context.where(situation.failures)
    lose = context.where(situation.failures & situation.loses)
    if failures:
        lost = f"{named(lose)} {'loses' if len(lose) == 1 else 'lose'} on {goal}"
        broken = [quoted(one) for one in failures if one not in lose]
        harm = f"{listed(broken)} {'breaks' if len(broken) == 1 else 'break'} a guardrail"
        first = " and ".join(part for part, has in ((lost, lose), (harm, broken)) if has)
        still = [one for one in context.challengers if one not in failures]
        return f"{first}; no clear result on {listed([quoted(one) for one in still])} yet"
    if leader.status == "winner" and context.is_gain(leader):
        return f"{quoted(leader)} is ahead on {goal}{by_how_much(leader)}, not yet safe to stop"
    if leader.status == "loser" and context.is_loss(leader):
        return f"{quoted(leader)} is behind on {goal}{by_how_much(leader)}, not yet safe to stop"
    return f"No clear result on {goal} yet"


def _why(context: DecisionContext, leader: VariantResult) -> str:
    """Say why the test goes on although this look alone has a result."""
    if leader.status not in {"winner", "loser"} or won_and_lost(context, leader):
        return won_and_lost(context, leader)
    if context.data.plan.is_bandit:
        return " A bandit is judged at its plan only."
    if leader.status == "winner" and first_week(context):
        return first_week(context)
    result = "a win" if leader.status == "winner" else "a loss"
    return f" One look alone would call this {result}; before the plan only what holds at every look counts."


def insufficient_data(context: DecisionContext) -> Message:
    """Announce that nothing can be compared yet, and the first reason."""
    if context.decision.situation.is_outcome_open and context.has_ended:
        return Message(
            headline=f"Not enough data on {context.goal.name}",
            explanation=first_outcomes(context, context.goal),
            next_step="Run the test again, and complete it once outcomes are known.",
        )
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
        headline=f"Not enough data on {context.goal.name}",
        explanation=f"No reliable comparison yet: {reason}.",
        next_step=next_step,
    )


def fix_data(context: DecisionContext) -> Message:
    """Announce that the data are not reliable, and why."""
    verdict = (
        ""
        if context.judged_at is None
        else f" The verdict of {day(context.judged_at)} does not count until then."
    )
    return Message(
        headline=f"Data problem: do not decide on {context.goal.name} yet",
        explanation=" ".join(context.alarms) + verdict,
        next_step=_fix(context.data.evidence),
    )


def _fix(evidence: Evidence) -> str:
    """Advise by where the visitors came from: no page has assigned and counted those of a table."""
    if evidence.missing_sources:
        return f"Import {', '.join(evidence.missing_sources)}: the verdict follows."
    if evidence.is_table:
        return f"{CAUSE_IN_TABLE}, then analyze the corrected rows."
    if evidence.is_imported:
        return f"{CAUSE_IN_TABLE}, then import the corrected rows as another experiment."
    return f"{CAUSE}, then run the test again."
