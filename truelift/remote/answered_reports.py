"""Reports of experiments built from the answers of the API."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import date, datetime
from typing import Any, Final

import msgspec

from engine.analysis.results.answer_reading import read_record, read_variant
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
from engine.analysis.results.segment_report import GoalSegments, SegmentReport, SegmentResult, SegmentSplit
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.units import unit_name, unit_noun
from engine.errors import InvalidDesignError
from engine.typed_records import record_of
from truelift.remote.rest_reader import RemoteError

Answer = Mapping[str, Any]
_FIELDS: Final = frozenset(one.name for one in fields(Experiment))
# Fields that no answer has, of the experiment as lists of verdicts show it.
_LISTED: Final = ("project_id", "started_at", "completed_at")


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what this version cannot read into a RemoteError."""
    try:
        yield
    except (msgspec.ValidationError, InvalidDesignError, KeyError) as error:
        raise RemoteError(
            f"the answer cannot be read ({error}): the experiment was changed while it was read, or the "
            "service is of another version than this library"
        ) from error


def report_of(
    listed: Answer, detail: Answer, results: Answer, days: Mapping[str, Sequence[Answer]]
) -> Report:
    """Build the report of an experiment: its listing, details and results, and the days of each goal by id.

    RemoteError for answers that this version cannot read.
    """
    with _readable():
        experiment = _experiment_of(listed, detail)
        goals = {goal.id: goal for goal in experiment.goals}
        plan = read_record(PlanReport, results["plan"])
        head = results["experiment"]
        return Report(
            experiment=experiment,
            score_label=head["score_label"],
            score_description=head["score_description"],
            effective_confidence_threshold=head["effective_confidence_threshold"] / 100.0,
            goals=tuple(_goal_report(goals[one["id"]], results, days[one["id"]]) for one in results["goals"]),
            health=tuple(read_record(HealthCheck, one) for one in results["health"]),
            as_of=_moment(results["as_of"]),
            # Answers about a plan name no unit.
            plan=replace(plan, noun=unit_noun(experiment.unit)),
            estimand=results["estimand"] and read_record(Estimand, results["estimand"]),
            clustered_by=None if plan.clusters is None else unit_name(experiment.unit),
            sums_from=results["sums_from"],
            is_exploratory=results.get("exploratory", False),
        )


def segment_report_of(listed: Answer, detail: Answer, segments: Answer) -> SegmentReport:
    """Build the segment report of an experiment; RemoteError for answers that this version cannot read."""
    with _readable():
        experiment = _experiment_of(listed, detail)
        goals = {goal.id: goal for goal in experiment.goals}
        return SegmentReport(
            experiment=experiment,
            false_discovery_rate=segments["false_discovery_rate"] / 100.0,
            comparisons=segments["comparisons"],
            goals=tuple(_goal_segments(goals[one["goal_id"]], one) for one in segments["goals"]),
            splits=_splits(segments["sample_ratios"]),
            split_alarms=_splits(segments["sample_ratio_alarms"]),
            left_out={one["dimension"]: one["reason"] for one in segments["left_out"]},
            as_of=_moment(segments["as_of"]),
        )


def _experiment_of(listed: Answer, detail: Answer) -> Experiment:
    """Build the experiment; its salt, which no answer has and no result depends on, is its id."""
    given = {name: value for name, value in detail.items() if name in _FIELDS}
    known = {**given, **{name: listed[name] for name in _LISTED}, "salt": detail["id"]}
    return record_of(known, Experiment)


def _goal_report(goal: Goal, results: Answer, days: Sequence[Answer]) -> GoalReport:
    return GoalReport(
        goal=goal,
        variants=tuple(read_variant(one, goal) for one in results["variants"][goal.id]),
        summary=read_record(GoalSummary, results["goal_summaries"][goal.id]),
        decision=read_record(DecisionSummary, results["decision_summaries"][goal.id]),
        days=tuple(
            (
                date.fromisoformat(day["date"]),
                {name: read_record(DayResult, one) for name, one in day["variants"].items()},
            )
            for day in days
        ),
    )


def _goal_segments(goal: Goal, answer: Answer) -> GoalSegments:
    return GoalSegments(
        goal=goal,
        summary=answer["summary"],
        segments=tuple(read_record(SegmentResult, one, goal.unit) for one in answer["segments"]),
    )


def _splits(answers: Sequence[Answer]) -> tuple[SegmentSplit, ...]:
    return tuple(read_record(SegmentSplit, one) for one in answers)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
