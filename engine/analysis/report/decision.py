"""Decision summary of a goal: the experiment's recommendation, in sentences on that goal."""

from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.goal_facts import yearly_of_leader
from engine.analysis.report.messages.confidence_assessment import assess_confidence
from engine.analysis.report.messages.secondary_goals import describe_goal
from engine.analysis.report.messages.unfinished import fix_data
from engine.analysis.results.report import DecisionSummary, GoalSummary
from engine.analysis.results.verdict_words import OUTCOMES, section_of


def summarize_decision(context: DecisionContext, message: Message, summary: GoalSummary) -> DecisionSummary:
    """Put the decision on the experiment, and the results of one goal, in sentences.

    `message` is that of the experiment: every goal has its label, tone and next step, so that none
    contradicts it.
    """
    leader, control = context.leader, context.control
    headline, explanation = _on_the_goal(context, message)
    decision = context.decision
    words = OUTCOMES[decision.recommendation, decision.reason]
    return DecisionSummary(
        goal_id=context.goal.id,
        goal_name=context.goal.name,
        goal_type=context.goal.goal_type,
        recommendation=context.decision.recommendation,
        reason=context.decision.reason,
        recommendation_label=words.label,
        tone=words.tone,
        headline=headline,
        explanation=explanation,
        next_step=message.next_step,
        variant_name=leader.variant_name if leader else None,
        control_variant_name=control.variant_name if control else None,
        estimated_uplift=leader.improvement if leader else None,
        score_label=summary.score_label,
        score_value=leader.compared.score_value if leader else None,
        effective_confidence_threshold=context.data.plan.threshold,
        confidence_assessment=assess_confidence(context),
        projected_annual_revenue_impact_cents=(
            leader.details.revenue.projected_annual_revenue_impact_cents if leader else None
        ),
        incremental_revenue_impact_cents=_incremental_revenue(context),
        revenue_currency=context.currency,
        visitors=summary.visitors,
        conversions=summary.conversions,
        conversion_rate=summary.conversion_rate,
        docs=section_of(decision.reason or decision.recommendation),
        yearly_impact=yearly_of_leader(context.data, decision, context.row),
    )


def _on_the_goal(context: DecisionContext, message: Message) -> tuple[str, str]:
    """Return the headline and the explanation of the goal."""
    if context.goal.is_primary:
        return message.headline, message.explanation
    if context.decision.recommendation == "fix_data":
        data_problem = fix_data(context)
        return data_problem.headline, data_problem.explanation
    if context.decision.reason == "measured_differs":
        return message.headline, message.explanation
    return describe_goal(context)


def _incremental_revenue(context: DecisionContext) -> int | None:
    """Compute the cents that the leader's visitors brought beyond what as many of the control's did.

    Of the capped amounts where the goal caps them.
    """
    leader, control = context.leader, context.control
    if leader is None or control is None:
        return None
    difference = leader.details.revenue.absolute_difference
    if leader.details.capped is not None and leader.metric.name == "revenue_per_visitor":
        difference = (leader.metric.value or 0.0) - (control.metric.value or 0.0)
    return None if difference is None else round(difference * leader.visitors)
