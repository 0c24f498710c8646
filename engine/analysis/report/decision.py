"""What to do about a goal: ship, roll back, keep running, review, wait for data, or fix the data."""

from dataclasses import dataclass

from engine.analysis.comparison.power import RELEVANT_CHANGE
from engine.analysis.report.caveat_messages import Caveat, words_with
from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.report.messages import assess_confidence, message_for
from engine.analysis.results.report import (
    DecisionSummary,
    GoalSummary,
    Recommendation,
    VariantResult,
)

SECONDARY = " This is a secondary goal: it informs the decision that the primary goal makes."


@dataclass(frozen=True, slots=True)
class Verdict:
    """A recommendation; whether any relevant difference is ruled out; and what else it takes into account."""

    recommendation: Recommendation
    is_equivalent: bool = False
    caveat: Caveat | None = None


def decide(facts: DecisionContext, summary: GoalSummary) -> DecisionSummary:
    """Turn a goal's results into a recommendation and its sentences."""
    verdict = recommend(facts)
    if verdict.caveat is None:
        words = message_for(verdict.recommendation, facts, is_equivalent=verdict.is_equivalent)
    else:
        words = words_with(verdict.caveat, facts)
    lead = facts.lead
    return DecisionSummary(
        goal_id=facts.goal.id,
        goal_name=facts.goal.name,
        goal_type=facts.goal.goal_type,
        recommendation=verdict.recommendation,
        recommendation_label=words.label,
        tone=words.tone,
        headline=words.headline,
        explanation=words.explanation + ("" if facts.goal.is_primary else SECONDARY),
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


def recommend(facts: DecisionContext) -> Verdict:
    """Judge: data that is not trusted comes first, then data that is missing, then the results."""
    if facts.alarms:
        return Verdict("fix_data")
    judged = {variant.status for variant in facts.challengers} - {"insufficient_data"}
    if facts.lead is None or not judged:
        return Verdict("insufficient_data")
    undecided: Recommendation = "review" if facts.has_ended else "keep_running"
    if "winner" in judged:
        return _of_winner(facts, facts.lead, undecided)
    if judged == {"loser"}:
        return Verdict("rollback")
    return _without_winner(facts, facts.lead, undecided)


def _of_winner(facts: DecisionContext, lead: VariantResult, undecided: Recommendation) -> Verdict:
    """A winner ships, unless it harms something, the plan says to wait, or chance could explain it."""
    if facts.goal.is_primary and lead.variant_id in facts.broken:
        return Verdict("review", caveat="breaks_guardrail")
    if facts.is_too_early and not facts.wins_at_any_look:
        return Verdict("keep_running", caveat="too_early")
    if not facts.is_discovery:
        return Verdict(undecided, caveat="one_of_many")
    return Verdict("ship")


def _without_winner(facts: DecisionContext, lead: VariantResult, undecided: Recommendation) -> Verdict:
    """What does not win is not kept if it does harm, and need not go on where there is nothing to find."""
    if facts.goal.is_primary and all(one.variant_id in facts.broken for one in facts.challengers):
        return Verdict("rollback", caveat="harms_only")
    if _is_equivalent(lead):
        return Verdict("review", is_equivalent=True)
    return Verdict(undecided)


def _is_equivalent(lead: VariantResult) -> bool:
    """Whether an undecided variant's interval leaves no room for a relevant change."""
    interval = lead.improvement_interval
    if lead.status != "inconclusive" or interval is None or interval.low is None or interval.high is None:
        return False
    return interval.low > -RELEVANT_CHANGE and interval.high < RELEVANT_CHANGE


def _incremental_revenue(facts: DecisionContext) -> int | None:
    """Cents that the lead's visitors brought beyond what as many of the control's did."""
    lead = facts.lead
    if lead is None or lead.revenue_difference_cents is None:
        return None
    return round(lead.revenue_difference_cents * lead.visitors)
