"""Messages of winners that wait for a guardrail: unknown, not judgeable, beyond its margin, inconclusive."""

import math

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.messages.plan_progress import basis, first_outcomes, how_long, progress
from engine.analysis.report.messages.variant_sentences import (
    allowed_harm,
    comparison,
    leader_and_control,
    losers,
    quoted,
)
from engine.analysis.report.messages.verdicts import winner_headline
from engine.analysis.results.formatting import listed, share
from engine.design.goal import Goal
from engine.stats.arrays import BoolArray


def guardrail_unknown(context: DecisionContext) -> Message:
    """Announce a winner of which a guardrail is not known yet: what to wait for, and until when."""
    leader, _ = leader_and_control(context)
    goals = _open_goals(context, ~context.decision.statistics.is_judged)
    is_early = context.decision.recommendation == "keep_running"
    wait = "Pause the experiment: nobody new enters, and outcomes are counted. Decide once they are known."
    return Message(
        headline=f"{winner_headline(context, leader)}, but {_named(goals)} not known yet",
        explanation=_compared(context) + "".join(f" {_missing(context, goal)}" for goal in goals),
        next_step=how_long(context) if is_early else wait,
    )


def guardrail_unjudged(context: DecisionContext) -> Message:
    """Announce a winner of which a guardrail cannot be judged, and why."""
    leader, _ = leader_and_control(context)
    goals = _open_goals(context, ~context.decision.statistics.is_judged)
    return Message(
        headline=f"{winner_headline(context, leader)}, but {_named(goals)} not judged",
        explanation=_compared(context) + "".join(f" {_missing(context, goal)}" for goal in goals),
        next_step=f"Compare {_listed_names(goals)} by hand before you ship {quoted(leader)}.",
    )


def guardrail_beyond(context: DecisionContext) -> Message:
    """Announce a winner before its plan of which a guardrail is worse than its margin by now."""
    leader, _ = leader_and_control(context)
    goals = _open_goals(context, context.decision.statistics.is_beyond_margin)
    worse = "are worse than their margins allow" if len(goals) > 1 else "is worse than its margin allows"
    return Message(
        headline=f"{winner_headline(context, leader)}, but {_listed_names(goals)} {worse}",
        explanation=_compared(context)
        + " Harm is not established; before the plan a winner ships only while every guardrail is within its"
        + " margin."
        + progress(context),
        next_step=how_long(context),
    )


def guardrail_inconclusive(context: DecisionContext) -> Message:
    """Announce a winner of which a guardrail is not shown to lose no more than its margin."""
    leader, _ = leader_and_control(context)
    goals = _open_goals(context, ~context.decision.findings.non_inferior)
    is_early = context.decision.recommendation == "keep_running"
    within = (
        "are not shown to be within their margins"
        if len(goals) > 1
        else "is not shown to be within its margin"
    )
    margins = ""
    for goal in goals:
        row = context.experiment.goals.index(goal)
        margins += f" {goal.name}: {allowed_harm(context, row)}{shown_with(context, row)}."
    weigh = f"Weigh the gain on {context.goal.name} against a possible loss on {_listed_names(goals)}"
    return Message(
        headline=f"{winner_headline(context, leader)}, but {_listed_names(goals)} {within}"
        f"{' yet' if is_early else ''}",
        explanation=_compared(context) + margins + (progress(context) if is_early else basis(context)),
        next_step=how_long(context) if is_early else f"{weigh}, or test again with more visitors.",
    )


def shown_with(context: DecisionContext, row: int) -> str:
    """Say with which power the plan shows that a guardrail without harm is within its margin."""
    power = float(context.sample.guardrail_power[row])
    if math.isnan(power):
        return ""
    is_weak = context.sample.is_guardrail_underpowered[row]
    needed = f" ({share(context.sample.planned_guardrail_power)} is needed)" if is_weak else ""
    return f", which the plan shows with {share(power)} power where there is no harm{needed}"


def is_held_back(context: DecisionContext) -> bool:
    """Tell whether a winner would ship, but for a guardrail that is beyond its margin by now."""
    situation = context.decision.situation
    return bool((situation.clean_winners & situation.is_beyond_margin).any())


def is_inconclusive(context: DecisionContext) -> bool:
    """Tell whether a winner would ship, but for a guardrail that is not shown to be within its margin."""
    situation = context.decision.situation
    return bool((situation.clean_winners & situation.is_inconclusive).any())


def describe_unjudged(context: DecisionContext) -> tuple[str, str] | None:
    """Describe the guardrail of the context where it is not judged: a headline, and what it lacks.

    None where it is judged, and where visitors are too few for any comparison, which says how many.
    """
    statistics, row = context.decision.statistics, context.row
    has_outcomes = context.data.evidence.trials[row].all()
    lacks_margin = statistics.lacks_margin[row].any()
    is_compared = any(one.status != "insufficient_data" for one in context.challengers)
    is_judged = (statistics.is_judged[row] | ~context.decision.situation.is_compared).all()
    is_counted_below = has_outcomes and not is_compared and not lacks_margin
    if is_judged or is_counted_below or context.found(context.decision.findings.broken):
        return None
    word = "judged" if lacks_margin or context.has_ended else "known yet"
    return f"The guardrail {context.goal.name} is not {word}", _missing(context, context.goal)


def _open_goals(context: DecisionContext, flags: BoolArray) -> list[Goal]:
    """List the guardrails that are flagged for the leader and not broken."""
    leader, _ = leader_and_control(context)
    column = context.variants.index(leader)
    is_open = context.data.plan.is_guardrail & flags[:, column] & ~context.decision.findings.broken[:, column]
    return [goal for goal, is_in in zip(context.experiment.goals, is_open, strict=True) if is_in]


def _listed_names(goals: list[Goal]) -> str:
    return listed([goal.name for goal in goals])


def _named(goals: list[Goal]) -> str:
    names = _listed_names(goals)
    return f"the guardrail {names} is" if len(goals) == 1 else f"the guardrails {names} are"


def _compared(context: DecisionContext) -> str:
    leader, control = leader_and_control(context)
    return comparison(context, leader, control) + losers(context)


def _missing(context: DecisionContext, goal: Goal) -> str:
    """Say what a guardrail lacks, in a sentence."""
    row = context.experiment.goals.index(goal)
    statistics, control = context.decision.statistics, context.data.plan.control
    if statistics.lacks_margin[row].any():
        name = "" if control is None else f" of '{context.experiment.variants[control].name}'"
        return (
            f"{goal.name}{name} is not above 0, of which no percentage is a margin: a test with an absolute"
            " margin can judge it."
        )
    if context.data.evidence.visitors.any() and not context.data.evidence.known_outcomes(row):
        return first_outcomes(context, goal)
    return f"There is too little data on {goal.name} to judge its margin."
