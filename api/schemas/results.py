"""Answers about results: full results, summary, days and estimand."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from api.schemas.experiments import described
from api.schemas.goal_results import DecisionSummary, GoalSummary, VariantResult
from api.schemas.percents import in_percents, percent
from api.schemas.segment_filters import AvailableSegments
from engine.analysis.evidence.recorded_looks import PlanSource
from engine.analysis.results import report as judged
from engine.analysis.results.report import CheckStatus, GoalReport, Report
from engine.design.experiment import Experiment
from engine.vocabulary import AnalysisMethod, GoalType, Status


class WeightEpoch(BaseModel):
    """A weight epoch: the weights that split new visitors from `started_at` to the next epoch."""

    started_at: datetime
    weights: dict[str, float] = Field(description="By variant id; in the first epoch the configured weights.")
    visitors: dict[str, int] = Field(description="Visitors first exposed in this epoch, by variant id.")


class Estimand(BaseModel):
    """The estimand of the comparisons where weights changed."""

    description: str
    compared_percentage: float | None = Field(
        description="Percent of a variant's and the control's visitors who are compared; the least of all."
    )
    epochs: list[WeightEpoch]

    @classmethod
    def of(cls, report: Report) -> "Estimand | None":
        """Describe the estimand; None where weights never changed."""
        found = report.estimand
        if found is None:
            return None
        return cls(
            description=found.description,
            compared_percentage=percent(found.compared_share),
            epochs=[WeightEpoch(**asdict(epoch)) for epoch in found.epochs],
        )


class DayOfVariant(BaseModel):
    """Results of a variant on a day."""

    visitors: int = Field(description="Visitors first exposed that day.")
    conversions: int = Field(description="Visitors whose first conversion was that day.")
    conversion_rate: float
    revenue_cents: int = Field(description="Revenue of the orders of that day.")
    revenue_per_visitor_cents: float
    amount: float | None = Field(
        description="Sum of what the goal's `measure` takes of the events of that day, such as their "
        "`count`, or of those in the numerator of a `ratio`; null for `converted` and for revenue."
    )
    denominator: float | None = Field(
        description="The same sum of the denominator of a `ratio`; null for other goals."
    )


class Day(BaseModel):
    """A calendar day in the project's reporting time zone."""

    date: str = Field(description="YYYY-MM-DD.")
    variants: dict[str, DayOfVariant] = Field(description="By variant id.")


def days_of(goal: judged.GoalReport) -> list[Day]:
    """Describe the days of a goal, from the start, without a gap."""
    return [
        Day(
            date=day.isoformat(),
            variants={variant: DayOfVariant(**in_percents(found)) for variant, found in variants.items()},
        )
        for day, variants in goal.days
    ]


class ExperimentHead(BaseModel):
    """An experiment and its analysis settings, in short."""

    id: str
    name: str
    status: Status
    analysis_method: AnalysisMethod
    confidence_level: int
    score_label: str
    score_description: str
    effective_confidence_threshold: float

    @classmethod
    def of(cls, experiment: Experiment) -> "ExperimentHead":
        """Describe an experiment in short."""
        return cls(**described(experiment))


class GoalHead(BaseModel):
    """A goal, in short."""

    id: str
    name: str
    goal_type: GoalType
    is_primary: bool

    @classmethod
    def of(cls, report: GoalReport) -> "GoalHead":
        """Describe a goal in short."""
        goal = report.goal
        return cls(id=goal.id, name=goal.name, goal_type=goal.goal_type, is_primary=goal.is_primary)


class HealthCheck(BaseModel):
    """Result of a health check."""

    check: str
    status: CheckStatus
    message: str
    details: dict[str, Any]


class Plan(BaseModel):
    """The sample plan by which an experiment is judged, for all of its goals."""

    source: PlanSource = Field(
        description="`given` as `statistics.planned_sample`; `blinded`: computed from all variants together, "
        "until it is reached; `last_day`: reached on running day 56; `finished`: the data were complete."
    )
    required_visitors: int | None = Field(
        description="Visitors to judge by, all variants together; null where no number is enough, or known."
    )
    collected_visitors: int = Field(description="Visitors so far, all variants together.")
    progress_percent: float | None = Field(description="Percent of the required visitors, at most 100.")
    is_reached: bool
    reached_at: datetime | None = Field(
        description="Time of the one look at the plan, whose verdict stays; null before it is recorded."
    )
    running_days: float | None = Field(description="Days since the start, without pauses.")
    days_left: int | None = Field(
        description="Days until the plan is reached at the pace so far; null without a pace."
    )
    minimum_effect_percent: float = Field(
        description="Smallest relevant lift of the primary goal, in percent of the control."
    )
    detectable_effect_percent: float | None = Field(
        description="Lift of the primary goal that the plan detects with 80% power."
    )
    detectable_harm_percent: dict[str, float] = Field(
        description="By the id of a guardrail: the loss beyond its margin that the plan detects."
    )

    @classmethod
    def of(cls, plan: judged.PlanReport) -> "Plan":
        """Describe a plan."""
        return cls(
            source=plan.source,
            required_visitors=plan.required_visitors,
            collected_visitors=plan.collected_visitors,
            progress_percent=percent(plan.progress),
            is_reached=plan.is_reached,
            reached_at=plan.reached_at,
            running_days=None if plan.running_days is None else round(plan.running_days, 2),
            days_left=plan.days_left,
            minimum_effect_percent=percent(plan.minimum_effect),
            detectable_effect_percent=percent(plan.detectable_effect),
            detectable_harm_percent={goal: percent(harm) for goal, harm in plan.detectable_harm.items()},
        )


class Results(BaseModel):
    """Full results of an experiment."""

    experiment: ExperimentHead
    variants: dict[str, list[VariantResult]] = Field(description="By goal id.")
    goals: list[GoalHead]
    goal_summaries: dict[str, GoalSummary] = Field(description="By goal id.")
    decision_summary: DecisionSummary | None = Field(
        description="Recommendation for the primary goal; null without one."
    )
    decision_summaries: dict[str, DecisionSummary] = Field(description="By goal id.")
    plan: Plan
    time_series: list[Day] = Field(description="Days of the primary goal.")
    available_segments: AvailableSegments
    active_segment: dict[str, str] | None = Field(description="The filters applied, as given.")
    health: list[HealthCheck]
    estimand: Estimand | None = Field(
        description="What is compared where weights changed; null where they never did."
    )
    as_of: datetime | None = Field(
        description="Time up to which received events are counted; null without events."
    )

    @classmethod
    def of(cls, report: Report, available: Mapping[str, Any], active: Mapping[str, str]) -> "Results":
        """Describe a report, the available segments and the active filters."""
        primary = report.primary
        return cls(
            experiment=ExperimentHead.of(report.experiment),
            variants={goal.goal.id: _variants(goal) for goal in report.goals},
            goals=[GoalHead.of(goal) for goal in report.goals],
            goal_summaries={goal.goal.id: GoalSummary.of(goal.summary) for goal in report.goals},
            decision_summary=DecisionSummary.of(primary.decision) if primary else None,
            decision_summaries={goal.goal.id: DecisionSummary.of(goal.decision) for goal in report.goals},
            plan=Plan.of(report.plan),
            time_series=days_of(primary) if primary else [],
            available_segments=AvailableSegments(**available),
            active_segment=dict(active) or None,
            health=[HealthCheck(**asdict(check)) for check in report.health],
            estimand=Estimand.of(report),
            as_of=report.as_of,
        )


class Summary(BaseModel):
    """Results of the primary goal; empty without goals."""

    experiment: ExperimentHead
    primary_goal: GoalHead | None
    variants: list[VariantResult]
    primary_goal_summary: GoalSummary | None
    decision_summary: DecisionSummary | None
    plan: Plan

    @classmethod
    def of(cls, report: Report) -> "Summary":
        """Describe the primary goal of a report."""
        primary = report.primary
        return cls(
            experiment=ExperimentHead.of(report.experiment),
            primary_goal=GoalHead.of(primary) if primary else None,
            variants=_variants(primary) if primary else [],
            primary_goal_summary=GoalSummary.of(primary.summary) if primary else None,
            decision_summary=DecisionSummary.of(primary.decision) if primary else None,
            plan=Plan.of(report.plan),
        )


def _variants(goal: GoalReport) -> list[VariantResult]:
    threshold = goal.summary.effective_confidence_threshold
    return [VariantResult.of(variant, goal.goal.unit, threshold) for variant in goal.variants]
