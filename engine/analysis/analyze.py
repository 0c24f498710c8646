"""From evidence to a verdict: `analyze` is the one way to a result.

Everything here is in shares, cents and unrounded numbers; percent, rounding and JSON are the API's
business. A number that does not exist is None.
"""

from datetime import date, datetime

from engine.analysis.comparison.guardrails import broken_guardrails
from engine.analysis.comparison.power import days_left
from engine.analysis.comparison.revenue import observed_days
from engine.analysis.comparison.significance import (
    assess_significance,
    discoveries,
    of_leads,
    wins_at_any_look,
)
from engine.analysis.comparison.significance_level import decision_threshold
from engine.analysis.comparison.stratified import estimand_of
from engine.analysis.evidence.totals import Evidence
from engine.analysis.health.checks import check_health
from engine.analysis.report.decision import decide
from engine.analysis.report.decision_context import DecisionContext
from engine.analysis.report.variant_results import AnalysisArrays, variant_results
from engine.analysis.results.report import (
    Capped,
    CheckStatus,
    DayResult,
    DecisionSummary,
    Estimand,
    GoalReport,
    GoalSummary,
    HealthCheck,
    Interval,
    Recommendation,
    Report,
    RevenuePart,
    Tone,
    Unadjusted,
    VariantResult,
    VariantStatus,
    WeightEpochResult,
)
from engine.design.experiment import Experiment
from engine.design.vocabulary import AnalysisMethod

__all__ = [
    "Capped",
    "CheckStatus",
    "DayResult",
    "DecisionSummary",
    "Estimand",
    "GoalReport",
    "GoalSummary",
    "HealthCheck",
    "Interval",
    "Recommendation",
    "Report",
    "RevenuePart",
    "Tone",
    "Unadjusted",
    "VariantResult",
    "VariantStatus",
    "WeightEpochResult",
    "analyze",
    "score_words",
]

_SCORES: dict[AnalysisMethod, tuple[str, str]] = {
    "frequentist": (
        "Significance (1-p)",
        "How rarely a difference at least this large would show up if the two were equally good.",
    ),
    "bayesian": (
        "Chance to beat control",
        "How likely it is, given the data, that the variant is truly better than the control.",
    ),
}


def score_words(method: AnalysisMethod) -> tuple[str, str]:
    """The label and the description of the score that a method is judged on."""
    return _SCORES[method]


def analyze(experiment: Experiment, evidence: Evidence, *, now: datetime, currency: str = "USD") -> Report:
    """Judge `evidence` about `experiment` as it stands at `now`; `currency` is that of its cents.

    Raises InvalidEvidenceError where the evidence is not of this experiment's goals and variants.
    """
    evidence.check_shape(goals=len(experiment.goals), variants=len(experiment.variants))
    label, description = score_words(experiment.analysis_method)
    threshold = decision_threshold(experiment)
    health = check_health(experiment, evidence, now)
    judgement = assess_significance(experiment, evidence)
    results = variant_results(AnalysisArrays(experiment, evidence, judgement, threshold))
    broken, remaining = broken_guardrails(experiment, evidence), days_left(experiment, evidence)
    facts = [
        DecisionContext(
            experiment=experiment,
            goal=goal,
            variants=variants,
            lead=variants[lead] if lead >= 0 else None,
            threshold=threshold,
            alarms=tuple(check.message for check in health if check.status == "alarm"),
            days=observed_days(evidence),
            currency=currency,
            broken=broken,
            days_left=remaining,
            wins_at_any_look=sure,
            is_discovery=found,
        )
        for goal, variants, lead, sure, found in zip(
            experiment.goals,
            results,
            judgement.lead.tolist(),
            of_leads(judgement, wins_at_any_look(experiment, evidence)),
            of_leads(judgement, discoveries(experiment, judgement)),
            strict=True,
        )
    ]
    return Report(
        experiment=experiment,
        score_label=label,
        score_description=description,
        effective_confidence_threshold=threshold,
        goals=tuple(_goal_report(facts_of_goal, evidence, goal) for goal, facts_of_goal in enumerate(facts)),
        health=health,
        as_of=evidence.as_of,
        estimand=estimand_of(experiment, evidence),
    )


def _goal_report(facts: DecisionContext, evidence: Evidence, goal: int) -> GoalReport:
    summary = _summary(facts, float(evidence.revenue.total[goal].sum()))
    return GoalReport(
        goal=facts.goal,
        variants=facts.variants,
        summary=summary,
        decision=decide(facts, summary),
        days=_days(facts.experiment, evidence, goal),
    )


def _summary(facts: DecisionContext, revenue_cents: float) -> GoalSummary:
    """All variants together, and the lead's comparison with the control."""
    label, description = score_words(facts.experiment.analysis_method)
    lead, control = facts.lead, facts.control
    visitors = sum(variant.visitors for variant in facts.variants)
    conversions = sum(variant.conversions for variant in facts.variants)
    return GoalSummary(
        goal_id=facts.goal.id,
        goal_name=facts.goal.name,
        goal_type=facts.goal.goal_type,
        visitors=visitors,
        conversions=conversions,
        conversion_rate=conversions / visitors if visitors else 0.0,
        revenue_cents=round(revenue_cents),
        revenue_per_visitor_cents=revenue_cents / visitors if visitors else 0.0,
        control_variant_name=control.variant_name if control else None,
        best_variant_name=lead.variant_name if lead else None,
        winner_variant_name=lead.variant_name if lead and lead.status == "winner" else None,
        improvement=lead.improvement if lead else None,
        confidence=lead.confidence if lead else None,
        score_value=lead.score_value if lead else None,
        score_progress=lead.score_progress if lead else None,
        score_label=label,
        score_description=description,
        effective_confidence_threshold=facts.threshold,
        rpv_lift=lead.rpv_lift if lead else None,
        projected_annual_revenue_impact_cents=lead.projected_annual_revenue_impact_cents if lead else None,
        status=lead.status if lead else "insufficient_data",
    )


def _days(
    experiment: Experiment, evidence: Evidence, goal: int
) -> tuple[tuple[date, dict[str, DayResult]], ...]:
    ids = [variant.id for variant in experiment.variants]
    daily = evidence.daily
    counts = zip(
        daily.days,
        daily.visitors.tolist(),
        daily.conversions[:, goal].tolist(),
        daily.revenue_cents[:, goal].tolist(),
        strict=True,
    )
    return tuple((day, dict(zip(ids, map(_day_result, *of_day), strict=True))) for day, *of_day in counts)


def _day_result(visitors: int, conversions: int, revenue_cents: int) -> DayResult:
    return DayResult(
        visitors=visitors,
        conversions=conversions,
        conversion_rate=conversions / visitors if visitors else 0.0,
        revenue_cents=revenue_cents,
        revenue_per_visitor_cents=revenue_cents / visitors if visitors else 0.0,
    )
