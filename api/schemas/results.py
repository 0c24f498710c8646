"""Answers about results: full results, summary and days."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from api.schemas.experiments import score_of
from api.schemas.record_answers import Answer, Scale, answer
from api.schemas.segment_filters import AvailableSegments
from engine.analysis.results.planned_sample import PlanReport
from engine.analysis.results.report import (
    DayResult,
    DecisionSummary,
    Estimand,
    GoalReport,
    GoalSummary,
    HealthCheck,
    Report,
)
from engine.analysis.results.variant_result import VariantResult
from engine.design.experiment import Experiment
from engine.vocabulary import AnalysisMethod, GoalType, Status
from pipeline.results.filters import SegmentFilters


class Day(BaseModel):
    """A calendar day in the project's reporting time zone."""

    date: str = Field(description="YYYY-MM-DD.", examples=["2026-03-02"])
    variants: dict[str, Answer[DayResult]] = Field(description="By variant id.")


def days_of(goal: GoalReport) -> list[Day]:
    """Describe the days of a goal, from the start, without a gap."""
    return [
        Day(date=day.isoformat(), variants={variant: answer(found) for variant, found in variants.items()})
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
        return cls(
            id=experiment.id,
            name=experiment.name,
            status=experiment.status,
            analysis_method=experiment.analysis_method,
            confidence_level=experiment.confidence_level,
            **score_of(experiment),
        )


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


class Results(BaseModel):
    """Full results of an experiment."""

    experiment: ExperimentHead
    variants: dict[str, list[Answer[VariantResult]]] = Field(description="By goal id.")
    goals: list[GoalHead]
    goal_summaries: dict[str, Answer[GoalSummary]] = Field(description="By goal id.")
    decision_summary: Answer[DecisionSummary] | None = Field(
        description="Recommendation for the primary goal; null without one."
    )
    decision_summaries: dict[str, Answer[DecisionSummary]] = Field(description="By goal id.")
    plan: Answer[PlanReport]
    time_series: list[Day] = Field(description="Days of the primary goal.")
    available_segments: AvailableSegments
    active_segment: dict[str, str] | None = Field(
        description="The filters applied, as given.", examples=[{"country": "AT"}]
    )
    active_days: dict[str, str] | None = Field(
        description="The bounds of days of first exposure, as given; null without any.",
        examples=[{"from": "2026-11-02", "to": "2026-11-08"}],
    )
    exploratory: bool = Field(
        description="Whether a part of the visitors is analyzed: no look is recorded, nothing acts on it."
    )
    health: list[Answer[HealthCheck]]
    estimand: Answer[Estimand] | None = Field(
        description="What is compared where weights changed; null where they never did."
    )
    as_of: datetime | None = Field(
        description="Time up to which received events are counted; null without events."
    )
    sums_from: str | None = Field(
        description="Who counted the visitors, where that was outside of this service, as a warehouse or a "
        "cluster; null where it counted events itself.",
        examples=["warehouse"],
    )
    run_id: str | None = Field(
        description="With `as_of`, the run that published the night; null for the present, and for nights of "
        "earlier versions.",
        examples=["run_q2v7xk5pmt3chn6zd4wr"],
    )

    @classmethod
    def of(
        cls,
        report: Report,
        available: Mapping[str, Any],
        filters: SegmentFilters,
        *,
        run_id: str | None = None,
    ) -> "Results":
        """Describe a report, the available segments, the active filters, and the run of a night."""
        primary = report.primary
        return cls(
            experiment=ExperimentHead.of(report.experiment),
            variants={goal.goal.id: _variants(goal) for goal in report.goals},
            goals=[GoalHead.of(goal) for goal in report.goals],
            goal_summaries={goal.goal.id: answer(goal.summary) for goal in report.goals},
            decision_summary=answer(primary.decision) if primary else None,
            decision_summaries={goal.goal.id: answer(goal.decision) for goal in report.goals},
            plan=answer(report.plan),
            time_series=days_of(primary) if primary else [],
            available_segments=AvailableSegments(**available),
            active_segment=dict(filters.given) or None,
            active_days=filters.given_days or None,
            exploratory=report.is_exploratory,
            health=[answer(check) for check in report.health],
            estimand=answer(report.estimand),
            as_of=report.as_of,
            sums_from=report.sums_from,
            run_id=run_id,
        )


class Summary(BaseModel):
    """Results of the primary goal; empty without goals."""

    experiment: ExperimentHead
    primary_goal: GoalHead | None
    variants: list[Answer[VariantResult]]
    primary_goal_summary: Answer[GoalSummary] | None
    decision_summary: Answer[DecisionSummary] | None
    plan: Answer[PlanReport]
    exploratory: bool = Field(
        description="Whether a part of the visitors is analyzed: no action rests on it."
    )

    @classmethod
    def of(cls, report: Report) -> "Summary":
        """Describe the primary goal of a report."""
        primary = report.primary
        return cls(
            experiment=ExperimentHead.of(report.experiment),
            primary_goal=GoalHead.of(primary) if primary else None,
            variants=_variants(primary) if primary else [],
            primary_goal_summary=answer(primary.summary) if primary else None,
            decision_summary=answer(primary.decision) if primary else None,
            plan=answer(report.plan),
            exploratory=report.is_exploratory,
        )


def _variants(goal: GoalReport) -> list[Any]:
    scale = Scale(goal.goal.unit, goal.summary.effective_confidence_threshold)
    return [answer(variant, scale) for variant in goal.variants]
