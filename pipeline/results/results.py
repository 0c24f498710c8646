"""Results of experiments: reports, evidence, segments and totals."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from engine.analysis.comparison.plan import plan_analysis
from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.segments import SegmentEvidence
from engine.analysis.results.report import Report
from engine.analysis.results.segment_report import SegmentReport
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.lifecycle import OPEN
from engine.design.project import Project
from engine.design.running_time import running_days
from engine.design.units import is_clustered
from engine.local_days import local_day
from pipeline.results.available_segments import read_available_segments
from pipeline.results.evidence import days_of, evidence_of
from pipeline.results.filters import (
    FILTERS,
    InvalidFilterError,
    SegmentFilters,
    validate_dimension,
)
from pipeline.results.observation import Observation, published_at
from pipeline.results.outside.outside_observation import OutsideObservation
from pipeline.results.project_totals import ProjectTotals
from pipeline.results.recorded_analysis import analyze_and_record
from pipeline.results.results_version import ResultsVersion
from pipeline.results.segment_evidence import segment_evidence_of
from pipeline.results.shared_reads import AskedRead, SharedQuestion, SharedReads
from pipeline.results.value_distribution import Distribution, distribution_of
from pipeline.results.verdict_keeper import VerdictKeeper
from pipeline.rollup.due import is_over
from pipeline.rollup.goals.known_days import last_days
from pipeline.rollup.run import Rollup
from pipeline.settings import Settings
from pipeline.sources.watermarks import missing_sources
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.visitors import has_rows

__all__ = ["FILTERS", "InvalidFilterError", "Results", "SegmentFilters"]

_NO_FILTERS: Final = SegmentFilters()


class Results:
    """Results from published sums, brought up to date first where that is quick."""

    def __init__(
        self,
        warehouse: Warehouse,
        rollup: Rollup,
        catalog: Catalog,
        settings: Settings,
        verdicts: VerdictKeeper,
    ) -> None:
        """Read `warehouse`, which `rollup` keeps up to date; `verdicts` keep those of all visitors."""
        self._warehouse = warehouse
        self._rollup = rollup
        self._looks = catalog.recorded_looks
        self._groups = catalog.exclusion_groups
        self.verdicts = verdicts
        self._data_dir = settings.data_dir
        self._fresh_read_seconds = settings.fresh_read_seconds
        self.project_totals = ProjectTotals(warehouse, rollup, seconds=settings.fresh_read_seconds)
        self._evidence, self._reports = SharedReads[Evidence](), SharedReads[Report]()
        self._of_segments = SharedReads[SegmentEvidence]()
        self._segment_reports = SharedReads[SegmentReport]()
        self._choices = SharedReads[Mapping[str, Any]]()
        for kept in (self._evidence, self._reports, self._of_segments, self._segment_reports, self._choices):
            rollup.publications.listen(kept.forget)

    def report(
        self,
        experiment: Experiment,
        project: Project,
        filters: SegmentFilters = _NO_FILTERS,
        *,
        now: datetime,
        is_finished: bool = False,
    ) -> Report:
        """Analyze the visitors who match every filter, as of `now` or of the report's `as_of`.

        The look that is due is recorded, unless there are filters: no action rests on a segment.
        `is_finished` where the data are complete and judged by one look, as those of an import.
        """
        read = self._asked(experiment, project, filters, now)
        return self._report_of(read, is_finished=is_finished)

    def shared_report(
        self,
        experiment: Experiment,
        project: Project,
        filters: SegmentFilters = _NO_FILTERS,
        *,
        now: datetime,
    ) -> Report:
        """Return the `report` of all who ask at this version of the results: its `as_of` may be earlier."""
        read = self._asked(experiment, project, filters, now)
        report = partial(self._report_of, read)
        return self._reports.get(read.question, partial(self._fresh_version, read), report)[0]

    def _asked(
        self, experiment: Experiment, project: Project, filters: SegmentFilters, now: datetime
    ) -> AskedRead:
        erasures = self.verdicts.erasures
        is_fresh = self.bring_up_to_date(experiment, project)
        published = self._rollup.publications.find(experiment.id)
        # Sums from outside are of their own time, whatever this service has counted since.
        is_outside = published is not None and published.sums_from is not None
        if filters.given and not is_outside:
            filters.refuse_other()
        if filters.first_day is not None:
            filters.refuse_coming(local_day(now, project.timezone))
        counted = now if is_fresh and not is_outside else None
        return AskedRead(experiment, project, filters, now, counted, erasures)

    def _report_of(self, read: AskedRead, *, is_finished: bool = False) -> Report:
        evidence, currency = self._evidence_of(read), read.project.revenue_currency
        if not read.filters.is_everyone:
            from engine.analysis.analyze import analyze  # noqa: PLC0415 - slow, and not needed at a start

            return analyze(read.experiment, evidence, now=read.now, currency=currency, is_segment=True)
        report = analyze_and_record(
            read.experiment, evidence, self._looks, now=read.now, currency=currency, is_finished=is_finished
        )
        if not is_finished:
            self.verdicts.keep(report, now=read.now, erasures=read.erasures)
        return report

    def open_visitors(self, experiment: Experiment, project: Project, *, now: datetime) -> int:
        """Count the visitors with an outcome still to come; 0 where no goal's outcome takes days."""
        days = plan_analysis(experiment).known_after
        return self.evidence(experiment, project, now=now).open_visitors(days) if days.any() else 0

    def may_have_counted(self, experiment: Experiment, project: Project) -> bool:
        """Tell whether a visitor was counted, or may have been by events that take long to count."""
        if not self.bring_up_to_date(experiment, project):
            return True
        with self._warehouse.transaction() as cursor:
            published = published_rollups.find(cursor, experiment.id)
            is_outside = published is not None and published.sums_from is not None
            return is_outside or (published is not None and has_rows(cursor, experiment.id))

    def evidence(
        self,
        experiment: Experiment,
        project: Project,
        filters: SegmentFilters = _NO_FILTERS,
        *,
        now: datetime,
    ) -> Evidence:
        """Read the evidence of those visitors, with every local day from the start to the end or `now`.

        `as_of` is the time up to which every event is counted; None before the first rollup.
        """
        return self._evidence_of(self._asked(experiment, project, filters, now))

    def _evidence_of(self, read: AskedRead) -> Evidence:
        version, compute = partial(self._version_of_evidence, read), partial(self._read_evidence, read)
        return self._evidence.read(read, version, compute)

    def _read_evidence(self, read: AskedRead) -> Evidence:
        experiment, timezone = read.experiment, read.project.timezone
        days, first = days_of(experiment, timezone, read.now), read.filters.days[0]
        if first is not None:
            days = range(min(max(days.start, first), days.stop), days.stop)
        missing = self.missing_sources(experiment)
        with self._observing(read) as observation:
            if observation is None:
                return evidence_of(experiment, aggregates.no_cells(), days)
            found = observation.of_visitors(read.filters, days=days, timezone=timezone)
            # Also of an import that began or ended while these were counted.
            missing += self.missing_sources(experiment, None if read.fresh_at else observation.as_of)
        return replace(found, missing_sources=tuple(sorted({*missing}))) if missing else found

    def distribution(
        self, experiment: Experiment, project: Project, filters: SegmentFilters, goal: Goal, *, now: datetime
    ) -> Distribution | None:
        """Count visitors by their value of a goal, by variant; None where no values are stored."""
        read = self._asked(experiment, project, filters, now)
        with self._observing(read) as observation:
            if observation is None:
                return None
            return distribution_of(observation, goal, read.filters, timezone=project.timezone)

    def segments(
        self,
        experiment: Experiment,
        project: Project,
        *,
        now: datetime,
        goal_id: str | None = None,
        dimension: str | None = None,
    ) -> SegmentReport:
        """Analyze every segment on every goal; `goal_id` and `dimension` narrow the report.

        The same of all who ask at this version of the results. Raises InvalidFilterError for an invalid
        dimension.
        """
        validate_dimension(dimension)
        read = self._asked(experiment, project, _NO_FILTERS, now)
        question = SharedQuestion(experiment.id, (goal_id, dimension))
        version = partial(self._version_of_evidence, read)
        compute = partial(self._analyze_segments, read, goal_id, dimension)
        return read.date(self._segment_reports.get(question, version, compute))

    def _analyze_segments(self, read: AskedRead, goal_id: str | None, dimension: str | None) -> SegmentReport:
        from engine.analysis.segments.analyze import analyze_segments  # noqa: PLC0415 - slow, and not needed at a start

        evidence = self._segment_evidence_of(read)
        return analyze_segments(read.experiment, evidence, goal_id=goal_id, dimension=dimension)

    def segment_evidence(self, experiment: Experiment, project: Project, *, now: datetime) -> SegmentEvidence:
        """Read the evidence of every segment in the aggregates at once.

        `left_out` names the other dimensions; `as_of` is that of `evidence`.
        """
        return self._segment_evidence_of(self._asked(experiment, project, _NO_FILTERS, now))

    def _segment_evidence_of(self, read: AskedRead) -> SegmentEvidence:
        version, compute = partial(self._version_of_evidence, read), partial(self._read_segments, read)
        return self._of_segments.read(read, version, compute)

    def _read_segments(self, read: AskedRead) -> SegmentEvidence:
        with self._observing(read) as observation:
            if observation is None:
                return segment_evidence_of(read.experiment, aggregates.no_totals())
            return observation.of_segments(timezone=read.project.timezone)

    def counted_outside_until(self, experiment: Experiment) -> datetime | None:
        """Return the time up to which sums from outside count; None where this service counts."""
        found = self._rollup.publications.find(experiment.id)
        return None if found is None or found.sums_from is None else published_at(found)

    def count_outside(self, experiment_ids: Collection[str]) -> int:
        """Count the experiments whose visitors are counted outside of this service."""
        found = self._rollup.publications.find_all(experiment_ids)
        return sum(one.sums_from is not None for one in found.values())

    def available_segments(self, experiment: Experiment) -> Mapping[str, Any]:
        """List the values to filter by, at most 200 per dimension, under the API's names; read once."""
        version = partial(self._rollup.publications.number, experiment.id)
        compute = partial(read_available_segments, self._warehouse, experiment)
        return self._choices.get(SharedQuestion(experiment.id), version, compute)[0]

    def version(self, experiment: Experiment, project: Project, *, now: datetime) -> ResultsVersion:
        """Return the version of an experiment's results, from memory."""
        publications, goals = self._rollup.publications, [goal.id for goal in experiment.goals]
        is_final = publications.is_final(experiment.id)
        return ResultsVersion(
            experiment=experiment,
            project=project,
            newest_seq=0 if is_final else self._rollup.last_seq_of(project.id),
            publication=publications.number(experiment.id),
            looks=self._looks.number(experiment.id),
            local_day=local_day(now, project.timezone),
            running_days=int(running_days(experiment, until=now)),
            is_over=is_over(experiment, now),
            last_days=(*last_days(experiment, goals, now, project.timezone).items(),),
            minute=int(now.timestamp()) // 60,
            missing_sources=self.missing_sources(experiment),
        )

    def _fresh_version(self, read: AskedRead) -> ResultsVersion | None:
        """Return the version of results that count every event; None where they do not."""
        if not self.is_fresh(read.experiment, read.project):
            return None
        return self.version(read.experiment, read.project, now=read.now)

    def _version_of_evidence(self, read: AskedRead) -> ResultsVersion | None:
        version = self._fresh_version(read)
        return version and version.of_evidence

    def is_fresh(self, experiment: Experiment, project: Project) -> bool:
        """Tell whether results count every acknowledged event."""
        return self._rollup.is_fresh(experiment, project)

    def bring_up_to_date(self, experiment: Experiment, project: Project) -> bool:
        """Count newer events, within a limited time; return whether every event is counted."""
        return self._rollup.is_fresh(experiment, project) or self._rollup.refresh_within(
            project.id, self._fresh_read_seconds
        )

    def missing_sources(
        self, experiment: Experiment, counted_until: datetime | None = None
    ) -> tuple[str, ...]:
        """Name the sources that an open experiment waits for."""
        if experiment.status not in OPEN:
            return ()
        return missing_sources(
            self._data_dir, experiment.project_id, experiment.id, counted_until=counted_until
        )

    @contextmanager
    def _observing(self, read: AskedRead) -> Iterator[Observation | None]:
        """Open the published results of an experiment; None without any."""
        experiment = read.experiment
        if experiment.started_at is None:
            yield None
            return
        beside = self._groups.together_with(experiment)
        with self._warehouse.transaction() as cursor:
            published = published_rollups.find(cursor, experiment.id)
            if published is None:
                yield None
                return
            variants = len(published.variants)
            everyone = SelectedVisitors.everyone(cursor, experiment.id, variants=variants)
            # What was counted for another unit tells nothing of this one.
            if everyone.has_units != is_clustered(experiment.unit):
                yield None
                return
            kind = Observation if published.sums_from is None else OutsideObservation
            yield kind(everyone, experiment, published, read.fresh_at or published_at(published), beside)
