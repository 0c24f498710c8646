"""What to do about a goal: ship, roll back, keep running, review, wait for data, or fix the data."""

from dataclasses import dataclass

from engine.analysis.result import DecisionSummary, GoalSummary, Recommendation, VariantResult
from engine.analysis.wording import Facts, assess_confidence, words_for

# A change of a tenth of the control's rate or revenue: smaller ones are rarely worth a decision of their own.
RELEVANT_CHANGE = 0.10


@dataclass(frozen=True, slots=True)
class Verdict:
    """A recommendation, and whether it is one because any relevant difference is ruled out."""

    recommendation: Recommendation
    is_equivalent: bool = False


def decide(facts: Facts, summary: GoalSummary) -> DecisionSummary:
    """Turn a goal's results into a recommendation and its sentences."""
    verdict = recommend(facts)
    words = words_for(verdict.recommendation, facts, is_equivalent=verdict.is_equivalent)
    lead = facts.lead
    return DecisionSummary(
        goal_id=facts.goal.id,
        goal_name=facts.goal.name,
        goal_type=facts.goal.goal_type,
        recommendation=verdict.recommendation,
        recommendation_label=words.label,
        tone=words.tone,
        headline=words.headline,
        explanation=words.explanation,
        next_step=words.next_step,
        variant_name=lead.variant_name if lead else None,
        control_variant_name=facts.control.variant_name if facts.control else None,
        estimated_uplift=lead.improvement if lead else None,
        score_label=summary.score_label,
        score_value=lead.score_value if lead else None,
        effective_confidence_threshold=facts.threshold,
        confidence_assessment=assess_confidence(facts),
        projected_annual_revenue_impact_cents=lead.projected_annual_revenue_impact_cents if lead else None,
        incremental_revenue_impact_cents=_incremental_revenue(facts),
        revenue_currency=facts.currency,
        visitors=summary.visitors,
        conversions=summary.conversions,
        conversion_rate=summary.conversion_rate,
    )


def recommend(facts: Facts) -> Verdict:
    """Judge: data that is not trusted comes first, then data that is missing, then the results."""
    if facts.alarms:
        return Verdict("fix_data")
    judged = {variant.status for variant in facts.challengers} - {"insufficient_data"}
    if facts.lead is None or not judged:
        return Verdict("insufficient_data")
    if "winner" in judged:
        return Verdict("ship")
    if judged == {"loser"}:
        return Verdict("rollback")
    if _is_equivalent(facts.lead):
        return Verdict("review", is_equivalent=True)
    return Verdict("review" if facts.has_ended else "keep_running")


def _is_equivalent(lead: VariantResult) -> bool:
    """Whether an undecided variant's interval leaves no room for a relevant change."""
    interval = lead.improvement_interval
    if lead.status != "inconclusive" or interval is None or interval.low is None or interval.high is None:
        return False
    return interval.low > -RELEVANT_CHANGE and interval.high < RELEVANT_CHANGE


def _incremental_revenue(facts: Facts) -> int | None:
    """Cents that the lead's visitors brought beyond what as many of the control's did."""
    lead, control = facts.lead, facts.control
    if lead is None or control is None or not lead.visitors or not control.visitors:
        return None
    return round((lead.revenue_per_visitor_cents - control.revenue_per_visitor_cents) * lead.visitors)
