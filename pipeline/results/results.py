"""What an experiment's result is: of everyone, of one segment, or of those who are in several at once."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from engine.analysis.analyze import analyze
from engine.analysis.evidence.segments import SegmentEvidence
from engine.analysis.evidence.totals import Evidence
from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.analysis.segments.analyze import analyze_segments
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds
from pipeline.results.evidence import days_of, evidence_of
from pipeline.results.filters import (
    FILTERS,
    InvalidFilterError,
    SegmentFilters,
    validate_dimension,
)
from pipeline.results.observation import Observation, published_at
from pipeline.results.segment_evidence import segment_evidence_of
from pipeline.rollup.run import Rollup
from pipeline.rollup.segment_values import segment_choices
from pipeline.settings import Settings
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.visitor_totals import CountedExperiment, Totals, read_totals
from pipeline.store.warehouse.visitors import CUSTOM_PREFIX, DIMENSIONS

__all__ = ["FILTERS", "InvalidFilterError", "Results", "SegmentFilters"]

# What the contract calls the values of each dimension.
_PLURALS: Final = {
    name: {"os": "operating_systems", "country": "countries", "visitor_identity": "visitor_identities"}.get(
        name, f"{name}s"
    )
    for name in DIMENSIONS
}
# What stands in totals as of lately.
RECENTLY: Final = timedelta(days=30)
_NO_FILTERS: Final = SegmentFilters()


class Results:
    """Answers from what is published, brought up to date first where that is quick."""

    def __init__(self, warehouse: Warehouse, rollup: Rollup, settings: Settings) -> None:
        """Read `warehouse`, which `rollup` keeps up to date."""
        self._warehouse = warehouse
        self._rollup = rollup
        self._patience = settings.fresh_read_seconds

    def report(
        self,
        experiment: Experiment,
        project: Project,
        filters: SegmentFilters = _NO_FILTERS,
        *,
        now: datetime,
    ) -> Report:
        """Judge the visitors who match every filter, as of `now` or of the report's `as_of`."""
        evidence = self.evidence(experiment, project, filters, now=now)
        return analyze(experiment, evidence, now=now, currency=_currency(experiment, project))

    def evidence(
        self,
        experiment: Experiment,
        project: Project,
        filters: SegmentFilters = _NO_FILTERS,
        *,
        now: datetime,
    ) -> Evidence:
        """What was observed of those visitors, with every local day from the start to the end or `now`.

        `as_of` is when this was all there was to observe; None while nothing was ever published.
        """
        days = days_of(experiment, project.timezone, now)
        with self._observing(experiment, project, now) as seen:
            if seen is None:
                return evidence_of(experiment, aggregates.no_cells(), days)
            return seen.of_visitors(filters.segment, days=days, timezone=project.timezone)

    def segments(
        self,
        experiment: Experiment,
        project: Project,
        *,
        now: datetime,
        goal_id: str | None = None,
        dimension: str | None = None,
    ) -> SegmentReport:
        """Judge every segment on every goal; `goal_id` and `dimension` narrow what is told.

        Raises InvalidFilterError for what can't be a dimension.
        """
        validate_dimension(dimension)
        evidence = self.segment_evidence(experiment, project, now=now)
        return analyze_segments(experiment, evidence, goal_id=goal_id, dimension=dimension)

    def segment_evidence(self, experiment: Experiment, project: Project, *, now: datetime) -> SegmentEvidence:
        """What was observed in every segment that is summed up ahead, all read at once.

        `left_out` names the dimensions that are not; `as_of` is that of `evidence`.
        """
        with self._observing(experiment, project, now) as seen:
            if seen is None:
                return segment_evidence_of(experiment, aggregates.no_totals())
            return seen.of_segments()

    def available_segments(self, experiment: Experiment) -> dict[str, Any]:
        """The values visitors can be filtered by, at most 200 a dimension, under the contract's names."""
        with self._warehouse.transaction() as cursor:
            published = published_rollups.find(cursor, experiment.id)
            found = segment_choices(cursor, experiment.id, published) if published else {}
        return {
            **{plural: found.get(name, []) for name, plural in _PLURALS.items()},
            "custom_dimensions": [
                {"key": key, "label": _label(key), "values": values}
                for name, values in sorted(found.items())
                if (key := name.removeprefix(CUSTOM_PREFIX)) != name
            ],
        }

    def totals(self, project: Project, experiments: Iterable[Experiment], *, now: datetime) -> Totals:
        """The people counted in any of a project's experiments, in all and in the 30 days up to `now`."""
        self._rollup.refresh_within(project.id, self._patience)
        with self._warehouse.transaction() as cursor:
            known = [(one, found) for one in experiments if (found := published_rollups.find(cursor, one.id))]
            counted = [_counted(one, found) for one, found in known]
            return read_totals(cursor, counted, since_us=epoch_microseconds(now - RECENTLY))

    def bring_up_to_date(self, experiment: Experiment, project: Project) -> bool:
        """Wait for newer events to be counted, if there are any; whether nothing is missing then."""
        return self._rollup.is_fresh(experiment, project) or self._rollup.refresh_within(
            project.id, self._patience
        )

    @contextmanager
    def _observing(
        self, experiment: Experiment, project: Project, now: datetime
    ) -> Iterator[Observation | None]:
        """What is published, after newer events were waited for; None while nothing is."""
        if experiment.started_at is None:
            yield None
            return
        is_fresh = self.bring_up_to_date(experiment, project)
        with self._warehouse.transaction() as cursor:
            published = published_rollups.find(cursor, experiment.id)
            if published is None:
                yield None
            else:
                as_of = now if is_fresh else published_at(published)
                yield Observation(cursor, experiment, published, as_of)


def _counted(experiment: Experiment, published: Published) -> CountedExperiment:
    goal = experiment.primary_goal
    # A goal that is new since the last count has no place in the tables yet.
    place = published.goals.index(goal.id) if goal and goal.id in published.goals else None
    return CountedExperiment(experiment.id, len(published.variants), place)


def _label(key: str) -> str:
    return key.replace("_", " ").replace("-", " ").strip().capitalize() or key


def _currency(experiment: Experiment, project: Project) -> str:
    """The money of the goal that is decided on, where it names one, or the project's."""
    goal = experiment.primary_goal
    return str(goal.tracking.get("currency", project.revenue_currency)) if goal else project.revenue_currency
