"""One result a variant and goal, out of the arrays: where numbers that do not exist become None."""

import math
from dataclasses import dataclass, replace

from engine.analysis.comparison.monitoring import monitor
from engine.analysis.comparison.revenue import revenue_difference, revenue_lift, yearly_impact
from engine.analysis.comparison.significance import Significance
from engine.analysis.comparison.significance_level import effective_alpha
from engine.analysis.evidence.totals import Evidence
from engine.analysis.health.sample_ratio import expected_overall
from engine.analysis.report.missing_reasons import VariantOnGoal, why_missing
from engine.analysis.report.variant_details import between, details_of, improvement_interval, number
from engine.analysis.results.report import Interval, VariantResult
from engine.design.experiment import Experiment
from engine.stats.arrays import FloatArray
from engine.stats.sequential.confidence_sequence import ConfidenceSequence


@dataclass(frozen=True, slots=True)
class AnalysisArrays:
    """All arrays of one analysis, goals by variants."""

    experiment: Experiment
    evidence: Evidence
    judgement: Significance
    threshold: float


def variant_results(findings: AnalysisArrays) -> tuple[tuple[VariantResult, ...], ...]:
    """Every variant's result, a row a goal; the control's has counts only."""
    experiment, control = findings.experiment, findings.judgement.control
    lift = revenue_lift(findings.evidence, control)
    difference = revenue_difference(findings.evidence, control)
    yearly = yearly_impact(experiment, findings.evidence, control)
    sequence = None if experiment.analysis_method == "bayesian" else monitor(experiment, findings.evidence)

    asides = details_of(experiment, findings.evidence)

    def result(goal: int, variant: int) -> VariantResult:
        counted = asides.with_details(_counted(findings, goal, variant), goal, variant)
        if variant == control:
            return counted
        return replace(
            _compared(counted, findings, goal, variant),
            sequential_interval=_always_valid(sequence, _each(experiment), goal, variant),
            rpv_lift=number(lift[goal, variant]),
            revenue_difference_cents=number(difference[goal, variant]),
            projected_annual_revenue_impact_cents=_whole(yearly, goal, variant),
        )

    columns = range(len(experiment.variants))
    return tuple(tuple(result(goal, i) for i in columns) for goal in range(len(experiment.goals)))


def _counted(findings: AnalysisArrays, goal: int, variant: int) -> VariantResult:
    """What the variant did, without a comparison."""
    arm, evidence = findings.experiment.variants[variant], findings.evidence
    visitors, conversions = int(evidence.visitors[variant]), int(evidence.conversions[goal, variant])
    revenue_per_visitor = float(evidence.revenue.mean[goal, variant])
    return VariantResult(
        variant_id=arm.id,
        variant_name=arm.name,
        is_control=variant == findings.judgement.control,
        visitors=visitors,
        conversions=conversions,
        conversion_rate=conversions / visitors if visitors else 0.0,
        revenue_cents=round(revenue_per_visitor * float(evidence.revenue.n[goal, variant])),
        revenue_per_visitor_cents=revenue_per_visitor,
        status=findings.judgement.status[goal, variant].item(),
        sample_ratio_expected=expected_overall(findings.experiment, evidence)[variant],
    )


def _compared(counted: VariantResult, findings: AnalysisArrays, goal: int, variant: int) -> VariantResult:
    """The same with its comparison with the control."""
    effects, cell = findings.judgement.effects, (goal, variant)
    log_p, score = number(effects.log_p[cell]), number(findings.judgement.score[cell])
    return replace(
        counted,
        improvement=number(effects.improvement[cell]),
        p_value=None if log_p is None else math.exp(log_p),
        log_p_value=log_p,
        confidence=number(findings.judgement.confidence[cell]),
        score_value=score,
        score_progress=None if score is None else min(1.0, score / findings.threshold),
        chance_to_beat=number(effects.chance[cell]),
        expected_loss=number(effects.loss[cell]),
        improvement_interval=improvement_interval(findings.judgement, goal, variant),
        absolute_difference=number(effects.difference[cell]),
        reason=why_missing(
            VariantOnGoal(findings.experiment, findings.evidence, findings.judgement, goal, variant)
        ),
    )


def _each(experiment: Experiment) -> float:
    return effective_alpha(experiment.confidence_level, len(experiment.variants))


def _always_valid(
    sequence: ConfidenceSequence | None, alpha: float, goal: int, variant: int
) -> Interval | None:
    if sequence is None:
        return None
    return between(sequence.lift_low[goal, variant], sequence.lift_high[goal, variant], 1.0 - alpha)


def _whole(values: FloatArray, goal: int, variant: int) -> int | None:
    value = number(values[goal, variant])
    return None if value is None else round(value)
