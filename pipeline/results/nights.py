"""Nights: reports of experiments as they were first published after the imports of each night."""

import logging
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final

import msgspec

from engine.analysis.results.flat_results import nest_variant
from engine.analysis.results.report import Report
from engine.design.experiment import Experiment
from engine.design.goal import Goal
from engine.design.project import Project
from engine.display.plain_data import plain_data
from engine.errors import Problem
from engine.local_days import local_day
from engine.typed_records import record_of
from pipeline.results.filters import REACHED, InvalidFilterError, SegmentFilters
from pipeline.results.results import Results
from pipeline.results.second_exposures import SecondExposures
from pipeline.run_each import run_each
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connection import Warehouse

logger = logging.getLogger(__name__)

AS_OF: Final = "as_of"
# An experiment that has ended is kept once or twice more, with its final results.
_KEPT_AFTER_END: Final = timedelta(days=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightReport:
    """The report of an experiment after a night, the segments to filter by, and the run that published both.

    `reached` is that of the visitors who reached what it changes; None without an event of them. Nights of
    earlier versions name no run.
    """

    report: Report
    available_segments: Mapping[str, Any]
    run_id: str | None = None
    reached: Report | None = None


class Nights:
    """Reports of past nights; one takes some kilobytes."""

    def __init__(self, warehouse: Warehouse, results: Results, second: SecondExposures) -> None:
        """Keep in `warehouse` what `results` reports, and the `second` looks beside it."""
        self._warehouse = warehouse
        self._results = results
        self._second = second

    def keep(
        self,
        experiments: Collection[Experiment],
        project: Project,
        days: Sequence[date],
        *,
        run_id: str | None,
        now: datetime,
    ) -> None:
        """Keep the present reports of a project's experiments for the nights that began these local days.

        `run_id` is that of the run that published them, None where sums came from outside. Those are kept for
        the nights that they count alone: their own publication keeps them.
        A night that is kept already stays as it is: its first publication. Nights older than the project
        keeps are removed, and those of days to come, which a clock that was ahead has made. ExceptionGroup
        of the failures.
        """
        today = local_day(now, project.timezone)
        first = today - timedelta(days=project.keep_nights - 1) if project.keep_nights else date.max
        nights: list[tuple[str, date, bytes]] = []

        def publish(experiment: Experiment) -> None:
            counted = self._results.counted_outside_until(experiment)
            last = date.max if counted is None else local_day(counted, project.timezone)
            known = [day for day in days if first <= day <= last]
            reported = [day for day in known if _is_reported(experiment, day, project)]
            if reported:
                content = self._content(experiment, project, run_id, now)
                nights.extend((experiment.id, day, content) for day in reported)

        try:
            run_each({f"experiment {one.id}": partial(publish, one) for one in experiments})
        finally:
            # In one transaction, so that all of them are of one run.
            with self._warehouse.transaction() as cursor:
                for night in nights:
                    published.keep_night(cursor, *night)
                for one in experiments:
                    published.remove_kept(cursor, one.id, before=first)
                    published.remove_kept(cursor, one.id, after=today)

    def _content(self, experiment: Experiment, project: Project, run_id: str | None, now: datetime) -> bytes:
        # In this order: the report brings the segments up to date.
        report = self._results.report(experiment, project, now=now)
        available = self._results.available_segments(experiment)
        reached = self._reached(experiment, project, now)
        night = plain_data(
            NightReport(report=report, available_segments=available, run_id=run_id, reached=reached)
        )
        return zlib.compress(msgspec.json.encode(night))

    def _reached(self, experiment: Experiment, project: Project, now: datetime) -> Report | None:
        """Return the second look at an experiment; where it fails, the night is kept without it."""
        try:
            return self._second.report(experiment, project, now=now)
        except Exception:
            logger.exception("the visitors who reached the change of %s could not be counted", experiment.id)
            return None

    def second_look(
        self, experiment: Experiment, project: Project, *, night: date | None, now: datetime
    ) -> Report:
        """Return the report of the visitors who reached what is changed, as of a night or of the last one.

        InvalidFilterError where there is none, with the reason.
        """
        if experiment.exposure is None:
            message = "this experiment names no event of the visitors who reach what it changes"
            raise InvalidFilterError((Problem(REACHED, message),))
        kept = [night] if night is not None else self.kept_of(experiment)[:1]
        found = self.find(experiment, project, kept[0], now=now).reached if kept else None
        if found is None:
            message = (
                "no night has counted them: the next one does, unless only sums are known, units are "
                "compared, weights changed, or the project keeps no nights"
            )
            raise InvalidFilterError((Problem(REACHED, message),))
        return found

    def read(
        self,
        experiment: Experiment,
        project: Project,
        filters: SegmentFilters,
        *,
        night: date | None,
        now: datetime,
    ) -> NightReport:
        """Return what was published of a night, or is now without one, which no run has published.

        Filters may ask for the `second_look`. InvalidFilterError for a night that is not kept.
        """
        if filters.reached:
            second = self.second_look(experiment, project, night=night, now=now)
            return NightReport(report=second, available_segments={})
        if night is not None:
            return self.find(experiment, project, night, now=now)
        report = self._results.shared_report(experiment, project, filters, now=now)
        return NightReport(report=report, available_segments=self._results.available_segments(experiment))

    def report(
        self,
        experiment: Experiment,
        project: Project,
        filters: SegmentFilters,
        *,
        night: date | None,
        now: datetime,
    ) -> Report:
        """Return the report of a night, which is kept of all visitors, or of now without one.

        Filters may ask for the `second_look`. InvalidFilterError for a night that is not kept.
        """
        if filters.reached:
            return self.second_look(experiment, project, night=night, now=now)
        if night is not None:
            return self.find(experiment, project, night, now=now).report
        return self._results.shared_report(experiment, project, filters, now=now)

    def available_segments(
        self, experiment: Experiment, project: Project, *, night: date | None, now: datetime
    ) -> Mapping[str, Any]:
        """List the values to filter by, as there were after a night, or as there are now."""
        if night is not None:
            return self.find(experiment, project, night, now=now).available_segments
        return self._results.available_segments(experiment)

    def kept_of(self, experiment: Experiment) -> list[date]:
        """List the nights that are kept of an experiment, the newest first."""
        with self._warehouse.cursor() as cursor:
            return published.list_kept(cursor, experiment.id)[::-1]

    def find(self, experiment: Experiment, project: Project, day: date, *, now: datetime) -> NightReport:
        """Return the report of an experiment for a night; InvalidFilterError names the nights there are."""
        if day > (today := local_day(now, project.timezone)):
            message = f"{day.isoformat()} has not begun: in {project.timezone} it is {today.isoformat()}"
            raise InvalidFilterError((Problem(AS_OF, message),))
        with self._warehouse.cursor() as cursor:
            content = published.find_kept(cursor, experiment.id, day)
            days = [] if content is not None else published.list_kept(cursor, experiment.id)
        if content is None:
            known = ", ".join(one.isoformat() for one in days) or "none yet"
            message = f"nothing is kept of the night of {day.isoformat()}; nights that are kept: {known}"
            raise InvalidFilterError((Problem(AS_OF, message),))
        try:
            return _night_of(msgspec.json.decode(zlib.decompress(content)))
        except (msgspec.ValidationError, KeyError) as error:
            message = f"the night of {day.isoformat()} was kept by another version, which reports otherwise"
            raise InvalidFilterError((Problem(AS_OF, message),)) from error


def _night_of(plain: dict[str, Any]) -> NightReport:
    """Read a report as it is kept: the results of variants in their flat form."""
    for report in (plain["report"], plain.get("reached")):
        for found in report["goals"] if report else ():
            goal = record_of(found["goal"], Goal)
            found["variants"] = [nest_variant(flat, goal) for flat in found["variants"]]
    return record_of(plain, NightReport)


def _is_reported(experiment: Experiment, day: date, project: Project) -> bool:
    timezone = project.timezone
    if experiment.started_at is None or local_day(experiment.started_at, timezone) > day:
        return False
    ended = experiment.completed_at
    return ended is None or local_day(ended, timezone) >= day - _KEPT_AFTER_END
