"""Decision summary of a goal: the experiment's recommendation, in sentences on that goal."""

from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.report.messages import assess_confidence, message_for
from engine.analysis.results.report import DecisionSummary, GoalSummary

SECONDARY = " This is a secondary goal: the decision rests on the primary goal."


def summarize_decision(context: DecisionContext, summary: GoalSummary) -> DecisionSummary:
    """Put the decision on the experiment, and the results of one goal, in sentences."""
    message = message_for(context)
    leader, control = context.leader, context.control
    return DecisionSummary(
        goal_id=context.goal.id,
        goal_name=context.goal.name,
        goal_type=context.goal.goal_type,
        recommendation=context.decision.recommendation,
        reason=context.decision.reason,
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
        incremental_revenue_impact_cents=_incremental_revenue(context),
        revenue_currency=context.currency,
        visitors=summary.visitors,
        conversions=summary.conversions,
        conversion_rate=summary.conversion_rate,
    )


def _incremental_revenue(context: DecisionContext) -> int | None:
    """Compute the cents that the leader's visitors brought beyond what as many of the control's did."""
    leader = context.leader
    if leader is None or leader.revenue_difference_cents is None:
        return None
    return round(leader.revenue_difference_cents * leader.visitors)
