"""What an experiment's result is: of everyone, of one segment, or of those who are in several at once."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import polars as pl

from engine.analysis.epochs import SETTLING, EpochEvidence
from engine.analysis.evidence import Evidence
from engine.analysis.follow_up import FollowUp
from engine.analysis.report import Report, analyze
from engine.analysis.segment_evidence import SegmentEvidence, SegmentVisitors
from engine.analysis.segment_report import SegmentReport, analyze_segments
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.design.reweighting import epochs_of
from pipeline.rollup.choices import dimensions_left_out, segment_choices
from pipeline.rollup.epochs import epochs_from
from pipeline.rollup.evidence import days_of, evidence_of, placed_as
from pipeline.rollup.follow_up import follow_up_of
from pipeline.rollup.rules import microseconds
from pipeline.rollup.run import Rollup
from pipeline.rollup.segment_evidence import segment_evidence_of, segment_visitors_of
from pipeline.rollup.values import goals_to_ask, values_of
from pipeline.segment_filters import FILTERS, InvalidFilterError, SegmentFilters, demand_dimension
from pipeline.settings import Settings
from pipeline.store import aggregates, rollups
from pipeline.store.epoch_sums import read_epochs
from pipeline.store.frames import Cursor
from pipeline.store.rollups import Published
from pipeline.store.visitor_sums import read_segment
from pipeline.store.visitor_totals import CountedExperiment, Totals, read_totals
from pipeline.store.visitor_values import ValueSums, read_value_sums
from pipeline.store.visitors import CUSTOM_PREFIX, DIMENSIONS
from pipeline.store.warehouse import Warehouse

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
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
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
        if experiment.started_at is None:
            return _nothing(experiment, days)
        is_fresh = self.bring_up_to_date(experiment, project)
        # A transaction, so that sums and visitors are those of one publication.
        with self._warehouse.transaction() as cursor:
            published = rollups.find(cursor, experiment.id)
            if published is None:
                return _nothing(experiment, days)
            cells = _cells(cursor, published, filters.segment)
            epochs = _epochs(cursor, experiment, published, filters.segment)
            by_segment = None if filters.segment else _visitors_by_segment(cursor, experiment, published)
            # Means of epochs are averaged, and only counts and revenue are known of each.
            sums = [] if epochs else _value_sums(cursor, published, experiment, filters.segment)
            as_of = now if is_fresh else _EPOCH + timedelta(microseconds=published.as_of)
            placed = _placed(experiment, published, cells)
            today = days_of(experiment, project.timezone, as_of)[-1]
            # Sums by segment have no days since exposure.
            followed = None if filters.segment else _followed(cursor, experiment, published, placed, today)
        evidence = evidence_of(experiment, placed, days)
        ids = {"variants": published.variants, "goals": published.goals}
        return replace(
            evidence,
            epochs=epochs,
            segments=by_segment,
            follow_up=followed,
            as_of=as_of,
            last_exposure_at=_moment(published.last_exposed_at),
            values=values_of(experiment, evidence, sums, **ids) if sums else None,
        )

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
        demand_dimension(dimension)
        evidence = self.segment_evidence(experiment, project, now=now)
        return analyze_segments(experiment, evidence, goal_id=goal_id, dimension=dimension)

    def segment_evidence(self, experiment: Experiment, project: Project, *, now: datetime) -> SegmentEvidence:
        """What was observed in every segment that is summed up ahead, all read at once.

        `left_out` names the dimensions that are not; `as_of` is that of `evidence`.
        """
        nothing = segment_evidence_of(experiment, aggregates.no_totals())
        if experiment.started_at is None:
            return nothing
        is_fresh = self.bring_up_to_date(experiment, project)
        with self._warehouse.transaction() as cursor:
            published = rollups.find(cursor, experiment.id)
            if published is None:
                return nothing
            cells = aggregates.read_totals(cursor, experiment.id)
            left_out = dimensions_left_out(cursor, experiment.id, published)
        return segment_evidence_of(
            experiment,
            _placed(experiment, published, cells),
            left_out=left_out,
            as_of=now if is_fresh else _moment(published.as_of),
        )

    def available_segments(self, experiment: Experiment) -> dict[str, Any]:
        """The values visitors can be filtered by, at most 200 a dimension, under the contract's names."""
        with self._warehouse.transaction() as cursor:
            published = rollups.find(cursor, experiment.id)
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
            known = [(one, found) for one in experiments if (found := rollups.find(cursor, one.id))]
            counted = [_counted(one, found) for one, found in known]
            return read_totals(cursor, counted, since_us=microseconds(now - RECENTLY))

    def bring_up_to_date(self, experiment: Experiment, project: Project) -> bool:
        """Wait for newer events to be counted, if there are any; whether nothing is missing then."""
        return self._rollup.is_fresh(experiment, project) or self._rollup.refresh_within(
            project.id, self._patience
        )


def _cells(cursor: Cursor, published: Published, segment: dict[str, str]) -> pl.DataFrame:
    """Sums taken ahead where there are any for what is asked, and sums over visitors elsewhere."""
    experiment_id = published.experiment_id
    if not segment:
        return aggregates.read_value(cursor, experiment_id, aggregates.EVERYONE, aggregates.EVERYONE)
    (dimension, value), *others = segment.items()
    if not others and dimension in published.dimensions:
        return aggregates.read_value(cursor, experiment_id, dimension, value)
    return read_segment(cursor, experiment_id, len(published.goals), segment)


def _epochs(
    cursor: Cursor, experiment: Experiment, published: Published, segment: dict[str, str]
) -> EpochEvidence | None:
    """Sums over visitors by what split them; None where that never changed."""
    began = [epoch.started_at for epoch in epochs_of(experiment)]
    if len(began) < 2:
        return None
    starts = [(microseconds(start), microseconds(start + SETTLING)) for start in began]
    cells = read_epochs(cursor, experiment.id, len(published.goals), starts, segment)
    return epochs_from(experiment, _placed(experiment, published, cells))


def _placed(experiment: Experiment, published: Published, cells: pl.DataFrame) -> pl.DataFrame:
    return placed_as(experiment, cells, variants=published.variants, goals=published.goals)


def _visitors_by_segment(cursor: Cursor, experiment: Experiment, published: Published) -> SegmentVisitors:
    cells = aggregates.read_visitors(cursor, experiment.id)
    return segment_visitors_of(experiment, _placed(experiment, published, cells))


def _value_sums(
    cursor: Cursor, published: Published, experiment: Experiment, segment: dict[str, str]
) -> list[ValueSums]:
    """What sums taken ahead don't tell, of goals that are judged on it; straight from the visitors."""
    asked = goals_to_ask(experiment, published.goals)
    if not asked:
        return []
    variants = len(published.variants)
    return read_value_sums(cursor, published.experiment_id, asked, segment, variants=variants)


def _followed(
    cursor: Cursor, experiment: Experiment, published: Published, cells: pl.DataFrame, today: int
) -> FollowUp | None:
    """Conversions of the primary goal by days since exposure, before `today`, which is not over."""
    later = _placed(experiment, published, aggregates.read_since_exposure(cursor, experiment.id))
    return follow_up_of(experiment, cells, later, today=today)


def _counted(experiment: Experiment, published: Published) -> CountedExperiment:
    goal = experiment.primary_goal
    # A goal that is new since the last count has no place in the tables yet.
    place = published.goals.index(goal.id) if goal and goal.id in published.goals else None
    return CountedExperiment(experiment.id, len(published.variants), place)


def _nothing(experiment: Experiment, days: range) -> Evidence:
    return evidence_of(experiment, aggregates.no_cells(), days)


def _label(key: str) -> str:
    return key.replace("_", " ").replace("-", " ").strip().capitalize() or key


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)


def _currency(experiment: Experiment, project: Project) -> str:
    """The money of the goal that is decided on, where it names one, or the project's."""
    goal = experiment.primary_goal
    return str(goal.tracking.get("currency", project.revenue_currency)) if goal else project.revenue_currency
