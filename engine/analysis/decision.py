"""What to do about a goal: ship, roll back, keep running, review, wait for data, or fix the data."""

from collections.abc import Sequence

from engine.analysis.health import RELEVANT_CHANGE
from engine.analysis.result import DecisionSummary, GoalSummary, Recommendation, VariantResult
from engine.analysis.wording import Case, assess_confidence, words_for
from engine.design.experiment import Experiment, Goal


def decide(
    experiment: Experiment,
    goal: Goal,
    variants: Sequence[VariantResult],
    summary: GoalSummary,
    *,
    alarms: tuple[str, ...],
    days: int,
    currency: str,
) -> DecisionSummary:
    """Turn a goal's results into a recommendation and its sentences; `alarms` say why data is not trusted."""
    control = next((variant for variant in variants if variant.is_control), None)
    lead = next(
        (v for v in variants if not v.is_control and v.variant_name == summary.best_variant_name), None
    )
    case = Case(
        experiment=experiment,
        goal=goal,
        control=control,
        lead=lead,
        alarms=alarms,
        threshold=summary.effective_confidence_threshold,
        currency=currency,
        days=days,
        is_equivalent=is_equivalent(lead),
    )
    recommendation = recommend(case)
    words = words_for(recommendation, case)
    return DecisionSummary(
        goal_id=goal.id,
        goal_name=goal.name,
        goal_type=goal.goal_type,
        recommendation=recommendation,
        recommendation_label=words.label,
        tone=words.tone,
        headline=words.headline,
        explanation=words.explanation,
        next_step=words.next_step,
        variant_name=lead.variant_name if lead else None,
        control_variant_name=control.variant_name if control else None,
        estimated_uplift=lead.improvement if lead else None,
        score_label=summary.score_label,
        score_value=lead.score_value if lead else None,
        effective_confidence_threshold=summary.effective_confidence_threshold,
        confidence_assessment=assess_confidence(case),
        projected_annual_revenue_impact_cents=lead.projected_annual_revenue_impact_cents if lead else None,
        incremental_revenue_impact_cents=incremental_revenue(lead, control),
        revenue_currency=currency,
        visitors=summary.visitors,
        conversions=summary.conversions,
        conversion_rate=summary.conversion_rate,
    )


def recommend(case: Case) -> Recommendation:
    """Pick the recommendation: untrusted data first, then missing data, then the verdict."""
    if case.alarms:
        return "fix_data"
    if case.control is None or case.lead is None or case.lead.status == "insufficient_data":
        return "insufficient_data"
    if case.lead.status == "winner":
        return "ship"
    if case.lead.status == "loser":
        return "rollback"
    if case.is_equivalent or case.has_ended:
        return "review"
    return "keep_running"


def is_equivalent(lead: VariantResult | None) -> bool:
    """Whether an undecided lead's interval leaves no room for a change worth acting on."""
    if lead is None or lead.status != "inconclusive" or lead.improvement_interval is None:
        return False
    low, high = lead.improvement_interval.low, lead.improvement_interval.high
    return low is not None and high is not None and -RELEVANT_CHANGE < low and high < RELEVANT_CHANGE


def incremental_revenue(lead: VariantResult | None, control: VariantResult | None) -> int | None:
    """Cents that the lead's visitors brought beyond what the control's visitors would have."""
    if lead is None or control is None or not lead.visitors or not control.visitors:
        return None
    return round((lead.revenue_per_visitor_cents - control.revenue_per_visitor_cents) * lead.visitors)
