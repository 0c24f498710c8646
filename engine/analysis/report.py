"""From evidence to a verdict: `analyze` is the one way to a result.

Everything here is in shares, cents and unrounded numbers; percent, rounding and JSON are the API's
business. A number that does not exist is None.
"""

from datetime import date, datetime

import numpy as np

from engine.analysis.decision import decide
from engine.analysis.evidence import Evidence
from engine.analysis.health import check_health, expected_shares
from engine.analysis.judgement import Judgement, judge
from engine.analysis.multiplicity import effective_threshold
from engine.analysis.reasons import why_missing
from engine.analysis.result import (
    CheckStatus,
    DayResult,
    DecisionSummary,
    GoalReport,
    GoalSummary,
    HealthCheck,
    Interval,
    Recommendation,
    Report,
    Tone,
    VariantResult,
    VariantStatus,
)
from engine.design.experiment import AnalysisMethod, Experiment

__all__ = [
    "CheckStatus",
    "DayResult",
    "DecisionSummary",
    "GoalReport",
    "GoalSummary",
    "HealthCheck",
    "Interval",
    "Recommendation",
    "Report",
    "Tone",
    "VariantResult",
    "VariantStatus",
    "analyze",
    "score_words",
]

DAYS_A_YEAR = 365

_SCORES: dict[AnalysisMethod, tuple[str, str]] = {
    "frequentist": (
        "Significance (1-p)",
        "How rarely chance alone would produce a difference at least this large between equally good variants.",
    ),
    "bayesian": (
        "Chance to beat control",
        "How likely the variant is to be truly better than the control, given the data.",
    ),
}


def score_words(method: AnalysisMethod) -> tuple[str, str]:
    """The label and the description of the score that this method is judged on."""
    return _SCORES[method]


def analyze(experiment: Experiment, evidence: Evidence, *, now: datetime, currency: str = "USD") -> Report:
    """Judge `evidence` about `experiment` as it stands at `now`."""
    label, description = score_words(experiment.analysis_method)
    health = check_health(experiment, evidence, now)
    judgement = judge(experiment, evidence)
    goals = tuple(
        _goal_report(experiment, evidence, judgement, health, goal, currency)
        for goal in range(len(experiment.goals))
    )
    return Report(
        experiment=experiment,
        score_label=label,
        score_description=description,
        effective_confidence_threshold=effective_threshold(
            experiment.confidence_level, len(experiment.variants)
        ),
        goals=goals,
        health=health,
        as_of=evidence.as_of,
    )


def _goal_report(
    experiment: Experiment,
    evidence: Evidence,
    judgement: Judgement,
    health: tuple[HealthCheck, ...],
    goal: int,
    currency: str,
) -> GoalReport:
    variants = _variant_results(experiment, evidence, judgement, goal)
    summary = _summary(experiment, evidence, variants, int(judgement.lead[goal]), goal)
    decision = decide(
        experiment,
        experiment.goals[goal],
        variants,
        summary,
        alarms=tuple(check.message for check in health if check.status == "alarm"),
        days=observed_days(evidence),
        currency=currency,
    )
    return GoalReport(
        goal=experiment.goals[goal],
        variants=variants,
        summary=summary,
        decision=decision,
        days=_days(experiment, evidence, goal),
    )


def _variant_results(
    experiment: Experiment, evidence: Evidence, judgement: Judgement, goal: int
) -> tuple[VariantResult, ...]:
    control = next((i for i, variant in enumerate(experiment.variants) if variant.is_control), None)
    threshold = effective_threshold(experiment.confidence_level, len(experiment.variants))
    shares = expected_shares(experiment)
    yearly = _yearly_impact(experiment, evidence, control, goal)
    lift = _revenue_lift(evidence, control, goal)
    found = judgement.comparisons
    results = []
    for i, variant in enumerate(experiment.variants):
        is_control = i == control
        cell = (goal, i)
        log_p, score = _number(found.log_p[cell]), _number(judgement.score[cell])
        visitors, conversions = int(evidence.visitors[i]), int(evidence.conversions[cell])
        results.append(
            VariantResult(
                variant_id=variant.id,
                variant_name=variant.name,
                is_control=variant.is_control,
                visitors=visitors,
                conversions=conversions,
                conversion_rate=conversions / visitors if visitors else 0.0,
                revenue_cents=round(float(evidence.revenue.total[cell])),
                revenue_per_visitor_cents=float(evidence.revenue.mean[cell]),
                status=judgement.status[cell].item(),
                sample_ratio_expected=shares[i],
                improvement=_number(found.improvement[cell]),
                p_value=None if log_p is None else float(np.exp(log_p)),
                log_p_value=log_p,
                confidence=None if log_p is None else float(-np.expm1(log_p)),
                score_value=score,
                score_progress=None if score is None else min(1.0, score / threshold),
                chance_to_beat=_number(found.chance[cell]),
                expected_loss=_number(found.loss[cell]),
                improvement_interval=_interval(judgement, cell),
                absolute_difference=_number(found.difference[cell]),
                rpv_lift=None if is_control else lift[i],
                projected_annual_revenue_impact_cents=None if is_control else yearly[i],
                reason=None if is_control else why_missing(experiment, evidence, judgement, cell),
            )
        )
    return tuple(results)


def _summary(
    experiment: Experiment, evidence: Evidence, variants: tuple[VariantResult, ...], lead: int, goal: int
) -> GoalSummary:
    label, description = score_words(experiment.analysis_method)
    best = variants[lead] if lead >= 0 else None
    control = experiment.control
    visitors, conversions = int(evidence.visitors.sum()), int(evidence.conversions[goal].sum())
    revenue = float(evidence.revenue.total[goal].sum())
    return GoalSummary(
        goal_id=experiment.goals[goal].id,
        goal_name=experiment.goals[goal].name,
        goal_type=experiment.goals[goal].goal_type,
        visitors=visitors,
        conversions=conversions,
        conversion_rate=conversions / visitors if visitors else 0.0,
        revenue_cents=round(revenue),
        revenue_per_visitor_cents=revenue / visitors if visitors else 0.0,
        control_variant_name=control.name if control else None,
        best_variant_name=best.variant_name if best else None,
        winner_variant_name=best.variant_name if best and best.status == "winner" else None,
        improvement=best.improvement if best else None,
        confidence=best.confidence if best else None,
        score_value=best.score_value if best else None,
        score_progress=best.score_progress if best else None,
        score_label=label,
        score_description=description,
        effective_confidence_threshold=effective_threshold(
            experiment.confidence_level, len(experiment.variants)
        ),
        rpv_lift=best.rpv_lift if best else None,
        projected_annual_revenue_impact_cents=best.projected_annual_revenue_impact_cents if best else None,
        status=best.status if best else "insufficient_data",
    )


def _days(
    experiment: Experiment, evidence: Evidence, goal: int
) -> tuple[tuple[date, dict[str, DayResult]], ...]:
    daily = evidence.daily
    visitors, conversions = daily.visitors.tolist(), daily.conversions[:, goal].tolist()
    cents = daily.revenue_cents[:, goal].tolist()
    return tuple(
        (
            day,
            {
                variant.id: DayResult(
                    visitors=visitors[d][v],
                    conversions=conversions[d][v],
                    conversion_rate=conversions[d][v] / visitors[d][v] if visitors[d][v] else 0.0,
                    revenue_cents=cents[d][v],
                    revenue_per_visitor_cents=cents[d][v] / visitors[d][v] if visitors[d][v] else 0.0,
                )
                for v, variant in enumerate(experiment.variants)
            },
        )
        for d, day in enumerate(daily.days)
    )


def observed_days(evidence: Evidence) -> int:
    """Days from the first to the last with a visitor; 0 where days are not known."""
    daily = evidence.daily
    seen = [day for day, count in zip(daily.days, daily.visitors.sum(axis=1).tolist(), strict=True) if count]
    return (seen[-1] - seen[0]).days + 1 if seen else 0


def _yearly_impact(
    experiment: Experiment, evidence: Evidence, control: int | None, goal: int
) -> list[int | None]:
    """Cents a year if every eligible visitor got the variant instead of the control."""
    days, arms = observed_days(evidence), len(experiment.variants)
    if control is None or not days or not evidence.visitors[control] or not experiment.traffic_allocation:
        return [None] * arms
    eligible = float(evidence.visitors.sum()) / (experiment.traffic_allocation / 100)
    mean = evidence.revenue.mean[goal]
    impact = (mean - mean[control]) * eligible / days * DAYS_A_YEAR
    return [round(float(value)) if n else None for value, n in zip(impact, evidence.visitors, strict=True)]


def _revenue_lift(evidence: Evidence, control: int | None, goal: int) -> list[float | None]:
    mean = evidence.revenue.mean[goal]
    if control is None or mean[control] <= 0:
        return [None] * len(mean)
    lift = (mean / mean[control] - 1.0).tolist()
    return [value if n else None for value, n in zip(lift, evidence.visitors, strict=True)]


def _interval(judgement: Judgement, cell: tuple[int, int]) -> Interval | None:
    low, high = judgement.comparisons.low[cell], judgement.comparisons.high[cell]
    if np.isnan(low) or np.isnan(high):
        return None
    return Interval(low=_number(low), high=_number(high), level=judgement.interval_level)


def _number(value: float) -> float | None:
    """The number, or None for one that does not exist or is infinite."""
    return float(value) if np.isfinite(value) else None
