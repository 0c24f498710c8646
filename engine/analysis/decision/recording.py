"""Recording of looks: the record of a decision, and the look that is due."""

from dataclasses import fields
from datetime import datetime

import numpy as np

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.significance import Significance
from engine.analysis.decision.established import Established, recorded_findings
from engine.analysis.decision.experiment_decision import Decision
from engine.analysis.evidence import recorded_looks
from engine.analysis.evidence.recorded_looks import (
    RecordedComparison,
    RecordedLook,
    RecordedPlan,
    counted_at_looks,
)
from engine.stats.arrays import FloatArray
from engine.stats.sequential.confidence_sequence_boundary import critical_value


def due_look(
    data: AnalysisData, significance: Significance, decision: Decision, *, now: datetime
) -> RecordedLook | None:
    """Return the look that is to be recorded now; None where none is due.

    The first look at the plan is; one in every running day; and each look at which something is newly
    established, so that it is kept. Nothing is recorded by data that are not to be relied on, or without
    visitors.
    """
    if decision.is_doubtful or not data.sample.visitors:
        return None
    is_at_plan = data.sample.is_reached and data.sample.recorded is None
    is_first_of_day = recorded_looks.is_first_of_day(data.sample.running_days, data.looks)
    if not is_at_plan and not is_first_of_day and not _is_news(data, decision):
        return None
    return record(data, significance, decision, now=now, is_at_plan=is_at_plan)


def record(
    data: AnalysisData,
    significance: Significance,
    decision: Decision,
    *,
    now: datetime,
    is_at_plan: bool,
) -> RecordedLook:
    """Record this look: its plan, the moments and statistics of each comparison, and the action."""
    variant = data.experiment.variants[decision.variant].id if decision.variant >= 0 else None
    return RecordedLook(
        taken_at=now,
        is_at_plan=is_at_plan,
        running_days=data.sample.running_days,
        visitors=data.sample.visitors,
        plan=_recorded_plan(data),
        comparisons=_comparisons(
            data, significance, decision, decision.findings if is_at_plan else decision.at_any_look
        ),
        recommendation=decision.recommendation,
        reason=decision.reason,
        variant_id=variant,
        earlier_visitors=counted_at_looks(data.looks),
        known_outcomes=data.sample.collected,
        outcomes_since=data.sample.outcomes_since,
    )


def _is_news(data: AnalysisData, decision: Decision) -> bool:
    known = Established.nothing(decision.findings.wins.shape)
    for look in data.looks:
        known = known.also(recorded_findings(data, look))
    news = Established.combine(lambda pair: pair[0] & ~pair[1], [decision.at_any_look, known])
    return any(getattr(news, field.name).any() for field in fields(news))


def _recorded_plan(data: AnalysisData) -> RecordedPlan:
    sample, goals = data.sample, data.experiment.goals
    margins = zip(goals, sample.equivalence_margins.tolist(), strict=True)
    return RecordedPlan(
        source=sample.source,
        required_visitors=sample.required_visitors,
        tuned_to=sample.tuned_to,
        mean=sample.mean,
        variance=sample.variance,
        minimum_effect=float(sample.minimum_effect),
        detectable_effect=sample.detectable_effect,
        equivalence_margins={goal.id: margin for goal, margin in margins},
        alpha=data.plan.two_sided_alpha,
        variants=len(data.plan.weights),
    )


def _comparisons(
    data: AnalysisData, significance: Significance, decision: Decision, kept: Established
) -> dict[str, dict[str, RecordedComparison]]:
    moments, effects = data.metrics.moments, significance.effects
    critical = float(critical_value(data.sample.fraction, data.plan.two_sided_alpha))

    def comparison(row: int, column: int) -> RecordedComparison:
        z = _number(decision.statistics.z, row, column)
        return RecordedComparison(
            n=int(moments.n[row, column]),
            mean=float(moments.mean[row, column]),
            m2=float(moments.m2[row, column]),
            m3=float(moments.m3[row, column]),
            z=z,
            critical=critical if z is not None and np.isfinite(critical) else None,
            log_p=_number(significance.one_look_log_p, row, column),
            lift_low=_number(effects.low, row, column),
            lift_high=_number(effects.high, row, column),
            crosses=bool(kept.crosses[row, column]),
            wins=bool(kept.wins[row, column]),
            loses=bool(kept.loses[row, column]),
            is_equivalent=bool(kept.equivalent[row, column]),
            is_broken=bool(kept.broken[row, column]),
            is_non_inferior=bool(kept.non_inferior[row, column]),
        )

    return {
        goal.id: {
            variant.id: comparison(row, column) for column, variant in enumerate(data.experiment.variants)
        }
        for row, goal in enumerate(data.experiment.goals)
    }


def _number(values: FloatArray, row: int, column: int) -> float | None:
    value = float(values[row, column])
    return value if np.isfinite(value) else None
