"""Recommendation on a goal: ship, roll back, keep running, review, wait for data, or fix the data."""

from dataclasses import dataclass

from engine.analysis.comparison.power import RELEVANT_CHANGE
from engine.analysis.report.caveat_messages import Caveat, caveat_message
from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.report.messages import assess_confidence, message_for
from engine.analysis.results.report import DecisionSummary, GoalSummary, Recommendation, VariantResult

SECONDARY = " This is a secondary goal: the decision rests on the primary goal."


@dataclass(frozen=True, slots=True)
class Verdict:
    """A recommendation; `is_equivalent` where a relevant difference is ruled out; and its caveat, if any."""

    recommendation: Recommendation
    is_equivalent: bool = False
    caveat: Caveat | None = None


def decide(context: DecisionContext, summary: GoalSummary) -> DecisionSummary:
    """Turn a goal's results into a recommendation and its sentences."""
    verdict, incremental = recommend(context), _incremental_revenue(context)
    if verdict.caveat is None:
        message = message_for(verdict.recommendation, context, is_equivalent=verdict.is_equivalent)
    else:
        message = caveat_message(verdict.caveat, context)
    leader, control = context.leader, context.control
    return DecisionSummary(
        goal_id=context.goal.id,
        goal_name=context.goal.name,
        goal_type=context.goal.goal_type,
        recommendation=verdict.recommendation,
        recommendation_label=message.label,
        tone=message.tone,
        headline=message.headline,
        explanation=message.explanation + ("" if context.goal.is_primary else SECONDARY),
        next_step=message.next_step,
        variant_name=leader.variant_name if leader else None,
        control_variant_name=control.variant_name if control else None,
        estimated_uplift=leader.improvement if leader else None,
        score_label=summary.score_label,
        score_value=leader.score_value if leader else None,
        effective_confidence_threshold=context.threshold,
        confidence_assessment=assess_confidence(context),
        projected_annual_revenue_impact_cents=leader.projected_annual_revenue_impact_cents
        if leader
        else None,
        incremental_revenue_impact_cents=incremental,
        revenue_currency=context.currency,
        visitors=summary.visitors,
        conversions=summary.conversions,
        conversion_rate=summary.conversion_rate,
    )


def recommend(context: DecisionContext) -> Verdict:
    """Recommend: first by data that is not trusted, then by data that is missing, then by the results."""
    if context.alarms:
        return Verdict("fix_data")
    statuses = {variant.status for variant in context.challengers} - {"insufficient_data"}
    if context.leader is None or not statuses:
        return Verdict("insufficient_data")
    undecided: Recommendation = "review" if context.has_ended else "keep_running"
    if "winner" in statuses:
        return _with_winner(context, context.leader, undecided)
    if statuses == {"loser"}:
        return Verdict("rollback")
    return _without_winner(context, context.leader, undecided)


def _with_winner(context: DecisionContext, leader: VariantResult, undecided: Recommendation) -> Verdict:
    """Ship a winner, unless it harms something, the plan says to wait, or chance could explain it."""
    if context.goal.is_primary and leader.variant_id in context.broken_guardrails:
        return Verdict("review", caveat="breaks_guardrail")
    if context.is_too_early and not context.wins_at_any_look:
        return Verdict("keep_running", caveat="too_early")
    if not context.is_discovery:
        return Verdict(undecided, caveat="one_of_many")
    return Verdict("ship")


def _without_winner(context: DecisionContext, leader: VariantResult, undecided: Recommendation) -> Verdict:
    """Roll back what harms, and end what is equivalent; otherwise leave it undecided."""
    if context.goal.is_primary and all(
        variant.variant_id in context.broken_guardrails for variant in context.challengers
    ):
        return Verdict("rollback", caveat="harms_only")
    if _is_equivalent(leader):
        return Verdict("review", is_equivalent=True)
    return Verdict(undecided)


def _is_equivalent(leader: VariantResult) -> bool:
    """Whether an undecided variant's interval leaves no room for a relevant change."""
    interval = leader.improvement_interval
    if leader.status != "inconclusive" or interval is None or interval.low is None or interval.high is None:
        return False
    return interval.low > -RELEVANT_CHANGE and interval.high < RELEVANT_CHANGE


def _incremental_revenue(context: DecisionContext) -> int | None:
    """Compute the cents that the leader's visitors brought beyond what as many of the control's did."""
    leader = context.leader
    if leader is None or leader.revenue_difference_cents is None:
        return None
    return round(leader.revenue_difference_cents * leader.visitors)
