"""Results: full payload, summary, time series and segments."""

from typing import Annotated

from fastapi import Query

from api.deps import ExperimentOfReadableResults, NightsDep, Now, ProjectOfReadableResults, ResultsDep
from api.errors import KEY_CODES, documented, merged
from api.results.answers import TAGGED, kept_while_unchanged
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Single
from api.schemas.results import Day, Results, Summary, days_of
from api.schemas.segment_filters import ResultsQuery, SegmentsQuery, TimeseriesQuery
from api.schemas.segment_results import Segments
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from pipeline.store.catalog.errors import NotFoundError

router = router_at(
    PREFIX + "/projects/{project_id}/experiments/{id}/results",
    tags=["Results"],
    responses=merged(
        TAGGED, documented(*KEY_CODES, "not_found", "validation_error", "needs_visitors", "unavailable")
    ),
)


@router.get("")
@kept_while_unchanged
def get_results(
    project: ProjectOfReadableResults,
    experiment: ExperimentOfReadableResults,
    query: Annotated[ResultsQuery, Query()],
    nights: NightsDep,
    now: Now,
) -> Single[Results]:
    """Get every goal and variant, the decisions, the days and the health of the data."""
    filters = query.filters
    found = nights.read(experiment, project, filters, night=query.night, now=now)
    return Single(data=Results.of(found.report, found.available_segments, filters, run_id=found.run_id))


@router.get("/summary")
@kept_while_unchanged
def get_results_summary(
    project: ProjectOfReadableResults,
    experiment: ExperimentOfReadableResults,
    query: Annotated[ResultsQuery, Query()],
    nights: NightsDep,
    now: Now,
) -> Single[Summary]:
    """Get the primary goal only."""
    report = nights.report(experiment, project, query.filters, night=query.night, now=now)
    return Single(data=Summary.of(report))


@router.get("/timeseries")
@kept_while_unchanged
def get_results_timeseries(
    project: ProjectOfReadableResults,
    experiment: ExperimentOfReadableResults,
    query: Annotated[TimeseriesQuery, Query()],
    nights: NightsDep,
    now: Now,
) -> Single[list[Day]]:
    """Get each day of one goal, in the project's reporting timezone, from the start without a gap."""
    goal = _goal(experiment, query.goal_id)
    report = nights.report(experiment, project, query.filters, night=query.night, now=now)
    goal_id = goal.id if goal else None
    goal_report = next((reported for reported in report.goals if reported.goal.id == goal_id), None)
    return Single(data=days_of(goal_report) if goal_report else [])


@router.get("/segments")
@kept_while_unchanged
def get_results_segments(
    project: ProjectOfReadableResults,
    experiment: ExperimentOfReadableResults,
    query: Annotated[SegmentsQuery, Query()],
    results: ResultsDep,
    now: Now,
) -> Single[Segments]:
    """Get every segment on every goal and variant, tested together for where the effect differs.

    Exploratory: about one in twenty of the differences called (at a confidence level of 95) is false, so
    confirm one in a new test. `goal_id` and `dimension` narrow the answer and change no number in it.
    """
    goal = None if query.goal_id is None else _goal(experiment, query.goal_id)
    goal_id = goal.id if goal else None
    report = results.segments(experiment, project, now=now, goal_id=goal_id, dimension=query.dimension)
    return Single(data=Segments.of(report))


def _goal(experiment: Experiment, goal_id: str | None) -> Goal | None:
    if goal_id is None:
        return experiment.primary_goal
    goal = next((goal for goal in experiment.goals if goal.id == goal_id), None)
    if goal is None:
        raise NotFoundError("goal", goal_id)
    return goal
