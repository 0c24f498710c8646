"""Work of rebuilds, of which the first one after a night's imports makes the night."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from threading import Lock
from typing import Final, Protocol

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import local_day
from pipeline.results.nightly_interactions import NightlyInteractions
from pipeline.results.nights import Nights
from pipeline.rollup.run import Outcome, Rollup
from pipeline.runs.night_imports import REMEMBERED, awaits_imports, morning_of
from pipeline.runs.run_work import counted
from pipeline.runs.runner import ReportProgress
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.job_records import NEVER_DONE, JobRecord
from pipeline.store.catalog.runs.run_record import Run, RunResult
from pipeline.store.warehouse.connection import Warehouse

logger = logging.getLogger(__name__)

# The name of the job that owes the nights.
NIGHTLY: Final = "rebuild_after_midnight"
_DAY: Final = timedelta(days=1)


class NightStores(Protocol):
    """Services that rebuilds work with; those of a process have them."""

    @property
    def catalog(self) -> Catalog:
        """Experiments, runs and records of jobs."""

    @property
    def warehouse(self) -> Warehouse:
        """Published results."""

    @property
    def rollup(self) -> Rollup:
        """Counts of events."""

    @property
    def nights(self) -> Nights:
        """Reports of past nights."""

    @property
    def interactions(self) -> NightlyInteractions:
        """Interactions between tests that run at once."""

    @property
    def erasing(self) -> Lock:
        """Held while a person is erased."""

    @property
    def clock(self) -> Callable[[], datetime]:
        """The time, aware."""


def owed_nights(catalog: Catalog, project: Project, record: JobRecord, *, now: datetime) -> list[date]:
    """List the nights of a project that can be made by now, in order, by the record of its last one.

    Past nights that were missed are among them; that of today is once its imports have ended, or at noon. A
    project owes no night before its first whole day, and one that is to come again where the clock was set
    back.
    """
    timezone = project.timezone
    today = local_day(now, timezone)
    last = date.fromisoformat(record.period) if record.period else local_day(project.created_at, timezone)
    if last == today:
        return []
    missed = [last + _DAY * number for number in range(1, (today - last).days)]
    if morning_of(now, timezone) == today:
        imports = catalog.runs.imports(project.id, since=now - REMEMBERED - _DAY)
        if awaits_imports(imports, today, timezone):
            return missed
    return [*missed, today]


def rebuild_run(store: NightStores, run: Run, _report: ReportProgress) -> RunResult:
    """Carry out a run of the kind `rebuild`, and make the nights that its project owes.

    A rebuild of chosen days makes none. One of the schedule, or that is asked to, checks what is stored, and
    counts everything anew only where there is a reason to.
    """
    days, chosen = run.parameters.get("days"), None
    project = store.catalog.projects.find(run.project_id)
    if days is not None:
        first, last = date.fromisoformat(days["from"]), date.fromisoformat(days["to"])
        experiments = store.catalog.experiments.of_project(project.id)
        chosen = [one.id for one in experiments if _ran_between(one, first, last, project.timezone)]
    record = store.catalog.job_records.of(NIGHTLY).get(project.id, NEVER_DONE)
    # Before the count, so that an import which ends after it is not taken for counted.
    owed = [] if days is not None else owed_nights(store.catalog, project, record, now=store.clock())
    at_night = run.trigger == "schedule" or bool(run.parameters.get("night"))
    outcome = store.rollup.rebuild(project.id, chosen, at_night=at_night)
    if owed:
        experiments = store.catalog.experiments.of_project(project.id, with_holdouts=True)
        tests = [one for one in experiments if not one.is_holdout]
        _find_interactions(store, tests, project, owed[-1])
        # An erasure in between would not find the person in reports that are about to be kept.
        with store.erasing:
            store.nights.keep(experiments, project, owed, run_id=run.id, now=store.clock())
        store.catalog.job_records.note_done(NIGHTLY, project.id, owed[-1].isoformat())
    changed = {"recounted": outcome.recounted, "updated": outcome.updated}
    found = counted(store.warehouse, run, outcome, changed)
    return replace(found, result={**found.result, **_described(outcome)})


def _find_interactions(
    store: NightStores, experiments: list[Experiment], project: Project, night: date
) -> None:
    """Compare tests that run at once; where that fails, the night is kept with what was found before."""
    try:
        store.interactions.keep(experiments, project, night, now=store.clock())
    except Exception:
        logger.exception("tests of project %s that run at once could not be compared", project.id)


def _described(outcome: Outcome) -> dict[str, str]:
    """Tell whether everything was counted, and why."""
    if outcome.whole is None:
        return {"count": "checked"}
    return {"count": "whole", "reason": outcome.whole.reason, "why": str(outcome.whole)}


def _ran_between(experiment: Experiment, first: date, last: date, timezone: str) -> bool:
    """Tell whether an experiment ran on one of these local days."""
    if experiment.started_at is None or local_day(experiment.started_at, timezone) > last:
        return False
    return experiment.completed_at is None or local_day(experiment.completed_at, timezone) >= first
