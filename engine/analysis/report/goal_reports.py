"""Report of each goal: results, summary, decision and days."""

from collections.abc import Sequence

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.significance import Significance
from engine.analysis.decision.experiment_decision import Decision
from engine.analysis.report.decision import summarize_decision
from engine.analysis.report.decision_context import DecisionContext, Message
from engine.analysis.report.goal_days import GoalDays
from engine.analysis.report.messages.table import message_for
from engine.analysis.report.messages.variant_sentences import broken_guardrails
from engine.analysis.report.score_labels import describe_score
from engine.analysis.results.report import GoalReport, GoalSummary, HealthCheck
from engine.analysis.results.variant_result import NO_NUMBERS, VariantResult


def goal_reports(  # noqa: PLR0913  # everything that is known of the goals
    data: AnalysisData,
    significance: Significance,
    decision: Decision,
    results: Sequence[tuple[VariantResult, ...]],
    health: Sequence[HealthCheck],
    *,
    currency: str,
) -> tuple[GoalReport, ...]:
    """Sum up each goal's results; the decision on the experiment is one for all goals."""
    ids = [variant.id for variant in data.experiment.variants]
    totals = data.evidence.totals.revenue.total.sum(axis=1).tolist()
    alarms = tuple(check.message for check in health if check.status == "alarm")
    contexts = [
        _context(data, significance, decision, row, results=tuple(results), alarms=alarms, currency=currency)
        for row in range(len(results))
    ]
    if not contexts:
        return ()
    message = message_for(contexts[data.plan.primary or 0])
    return tuple(
        _goal_report(context, message, significance, totals[row], GoalDays(data.evidence.daily, row, ids))
        for row, context in enumerate(contexts)
    )


def _context(  # noqa: PLR0913  # facts of one goal, and those that do not differ between goals
    data: AnalysisData,
    significance: Significance,
    decision: Decision,
    row: int,
    *,
    results: tuple[tuple[VariantResult, ...], ...],
    alarms: tuple[str, ...],
    currency: str,
) -> DecisionContext:
    """Collect the facts of one goal's sentences."""
    goal, variants = data.experiment.goals[row], results[row]
    leader = decision.variant if decision.variant >= 0 else int(significance.leader[row])
    return DecisionContext(
        data=data,
        experiment=data.experiment,
        sample=data.sample,
        decision=decision,
        results=results,
        row=row,
        goal=goal,
        variants=variants,
        control=next((variant for variant in variants if variant.is_control), None),
        leader=variants[leader] if leader >= 0 else None,
        alarms=alarms,
        currency=goal.currency(currency),
    )


def _goal_report(
    context: DecisionContext,
    message: Message,
    significance: Significance,
    revenue_cents: float,
    days: GoalDays,
) -> GoalReport:
    best = int(significance.leader[context.row])
    summary = _summary(context, context.variants[best] if best >= 0 else None, revenue_cents)
    return GoalReport(
        goal=context.goal,
        variants=context.variants,
        summary=summary,
        decision=summarize_decision(context, message, summary),
        days=days,
        breaks={
            one.variant_id: broken_guardrails(context, [one], only=context.row).strip()
            for one in context.found(context.decision.findings.broken)
        },
    )


def _summary(context: DecisionContext, leader: VariantResult | None, revenue_cents: float) -> GoalSummary:
    """Sum up all variants, and the comparison of this look's leader with the control."""
    experiment = context.experiment
    label, description = describe_score(experiment.analysis_method, experiment.statistics.alternative)
    control, revenue = context.control, leader.details.revenue if leader else NO_NUMBERS
    compared = leader.compared if leader else NO_NUMBERS
    visitors = sum(variant.visitors for variant in context.variants)
    conversions = sum(variant.conversions for variant in context.variants)
    return GoalSummary(
        goal_id=context.goal.id,
        goal_name=context.goal.name,
        goal_type=context.goal.goal_type,
        currency=context.currency,
        visitors=visitors,
        conversions=conversions,
        conversion_rate=conversions / visitors if visitors else 0.0,
        revenue_cents=round(revenue_cents),
        revenue_per_visitor_cents=revenue_cents / visitors if visitors else 0.0,
        control_variant_name=control.variant_name if control else None,
        best_variant_name=leader.variant_name if leader else None,
        winner_variant_name=leader.variant_name if leader and leader.status == "winner" else None,
        improvement=compared.improvement,
        confidence=compared.confidence,
        score_value=compared.score_value,
        score_progress=compared.score_progress,
        score_label=label,
        score_description=description,
        effective_confidence_threshold=context.data.plan.threshold,
        rpv_lift=revenue.improvement,
        projected_annual_revenue_impact_cents=revenue.projected_annual_revenue_impact_cents,
        status=leader.status if leader else "insufficient_data",
    )
