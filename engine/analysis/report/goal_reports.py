"""Report of each goal: results, summary, decision and days."""

from collections.abc import Sequence
from datetime import date

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.guardrails import broken_guardrails
from engine.analysis.comparison.significance import Significance, discoveries, of_leaders, wins_at_any_look
from engine.analysis.report.decision import decide
from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.report.score_labels import describe_score
from engine.analysis.results.report import DayResult, GoalReport, GoalSummary, HealthCheck, VariantResult

GoalDays = tuple[tuple[date, dict[str, DayResult]], ...]


def goal_reports(  # noqa: PLR0913  # everything that is known of the goals
    data: AnalysisData,
    significance: Significance,
    results: Sequence[tuple[VariantResult, ...]],
    health: Sequence[HealthCheck],
    *,
    days_left: int | None,
    currency: str,
) -> tuple[GoalReport, ...]:
    """Sum up each goal's results and decide on it."""
    alarms = tuple(check.message for check in health if check.status == "alarm")
    broken, days = broken_guardrails(data), _days(data)
    always, discovery = wins_at_any_look(data.plan, significance), discoveries(data.plan, significance)
    contexts = [
        DecisionContext(
            experiment=data.experiment,
            goal=goal,
            variants=variants,
            leader=variants[leader] if leader >= 0 else None,
            threshold=data.plan.threshold,
            alarms=alarms,
            days=data.days,
            currency=currency,
            broken_guardrails=broken,
            days_left=days_left,
            wins_at_any_look=wins_always,
            is_discovery=is_discovery,
        )
        for goal, variants, leader, wins_always, is_discovery in zip(
            data.experiment.goals,
            results,
            significance.leader.tolist(),
            of_leaders(significance, always),
            of_leaders(significance, discovery),
            strict=True,
        )
    ]
    totals = data.evidence.revenue.total.sum(axis=1).tolist()
    return tuple(
        _goal_report(context, revenue_cents, days_of_goal)
        for context, revenue_cents, days_of_goal in zip(contexts, totals, days, strict=True)
    )


def _goal_report(context: DecisionContext, revenue_cents: float, days: GoalDays) -> GoalReport:
    summary = _summary(context, revenue_cents)
    return GoalReport(
        goal=context.goal,
        variants=context.variants,
        summary=summary,
        decision=decide(context, summary),
        days=days,
    )


def _summary(context: DecisionContext, revenue_cents: float) -> GoalSummary:
    """Sum up all variants, and the leader's comparison with the control."""
    label, description = describe_score(context.experiment.analysis_method)
    leader, control = context.leader, context.control
    visitors = sum(variant.visitors for variant in context.variants)
    conversions = sum(variant.conversions for variant in context.variants)
    return GoalSummary(
        goal_id=context.goal.id,
        goal_name=context.goal.name,
        goal_type=context.goal.goal_type,
        visitors=visitors,
        conversions=conversions,
        conversion_rate=conversions / visitors if visitors else 0.0,
        revenue_cents=round(revenue_cents),
        revenue_per_visitor_cents=revenue_cents / visitors if visitors else 0.0,
        control_variant_name=control.variant_name if control else None,
        best_variant_name=leader.variant_name if leader else None,
        winner_variant_name=leader.variant_name if leader and leader.status == "winner" else None,
        improvement=leader.improvement if leader else None,
        confidence=leader.confidence if leader else None,
        score_value=leader.score_value if leader else None,
        score_progress=leader.score_progress if leader else None,
        score_label=label,
        score_description=description,
        effective_confidence_threshold=context.threshold,
        rpv_lift=leader.rpv_lift if leader else None,
        projected_annual_revenue_impact_cents=(
            leader.projected_annual_revenue_impact_cents if leader else None
        ),
        status=leader.status if leader else "insufficient_data",
    )


def _days(data: AnalysisData) -> list[GoalDays]:
    """List each goal's days, keyed by variant id."""
    ids = [variant.id for variant in data.experiment.variants]
    daily = data.evidence.daily
    visitors = daily.visitors.tolist()
    conversions, revenue = daily.conversions.tolist(), daily.revenue_cents.tolist()
    return [
        tuple(
            (
                day,
                dict(
                    zip(
                        ids,
                        map(_day_result, visitors[place], conversions[place][goal], revenue[place][goal]),
                        strict=True,
                    )
                ),
            )
            for place, day in enumerate(daily.days)
        )
        for goal in range(len(data.experiment.goals))
    ]


def _day_result(visitors: int, conversions: int, revenue_cents: int) -> DayResult:
    return DayResult(
        visitors=visitors,
        conversions=conversions,
        conversion_rate=conversions / visitors if visitors else 0.0,
        revenue_cents=revenue_cents,
        revenue_per_visitor_cents=revenue_cents / visitors if visitors else 0.0,
    )
