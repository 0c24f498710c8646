"""Messages by recommendation and reason."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.messages import doubtful_data, open_guardrails, reviews, unfinished, verdicts
from engine.analysis.report.messages.plan_progress import beside_record
from engine.analysis.results.report import Reason, Recommendation


def _keep_running(context: DecisionContext) -> Message:
    if open_guardrails.is_held_back(context):
        return open_guardrails.guardrail_beyond(context)
    if open_guardrails.is_inconclusive(context):
        return open_guardrails.guardrail_inconclusive(context)
    return unfinished.keep_running(context)


MESSAGES: Final[Mapping[tuple[Recommendation, Reason | None], Callable[[DecisionContext], Message]]] = {
    ("ship", None): verdicts.ship,
    ("rollback", None): verdicts.rollback,
    ("review", "no_difference"): reviews.no_difference,
    ("review", "undecided"): reviews.undecided,
    ("review", "guardrail_broken"): reviews.guardrail_broken,
    ("review", "guardrail_unknown"): open_guardrails.guardrail_unknown,
    ("review", "guardrail_unjudged"): open_guardrails.guardrail_unjudged,
    ("review", "guardrail_inconclusive"): open_guardrails.guardrail_inconclusive,
    ("keep_running", "guardrail_unknown"): open_guardrails.guardrail_unknown,
    ("review", "measured_differs"): doubtful_data.measured_differs,
    ("review", "one_visitor"): doubtful_data.one_visitor,
    ("review", "goal_harmed"): reviews.goal_harmed,
    ("review", "ended_early"): reviews.ended_early,
    ("review", "exploratory"): reviews.exploratory,
    ("keep_running", None): _keep_running,
    ("insufficient_data", None): unfinished.insufficient_data,
    ("fix_data", None): unfinished.fix_data,
}


def message_for(context: DecisionContext) -> Message:
    """Write the sentences of the decision, on the primary goal."""
    message = MESSAGES[context.decision.recommendation, context.decision.reason](context)
    if context.decision.is_doubtful:
        return message
    return replace(message, explanation=message.explanation + beside_record(context))
