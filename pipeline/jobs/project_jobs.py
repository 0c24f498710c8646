"""Jobs that each project owes once a period, by the catalog's record of the last one that was done."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from engine.design.project import Project
from engine.local_days import EPOCH, local_day
from pipeline.jobs.bandits import move_weights
from pipeline.run_each import run_each
from pipeline.runs.night_work import NIGHTLY, owed_nights
from pipeline.services import PipelineServices
from pipeline.settings import Settings
from pipeline.snapshots.hourly_events import write_due
from pipeline.snapshots.writer import SnapshotStoppedError
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.job_records import NEVER_DONE, JobRecord
from pipeline.store.catalog.runs.run_record import Kind, Run

logger = logging.getLogger(__name__)

# The wait after a failed try, doubled with each further one up to the longest.
FIRST_WAIT: Final = timedelta(minutes=5)
LONGEST_WAIT: Final = timedelta(hours=1)
_HOUR: Final = 3600
# The period that a project owes by now, if any, by the record of the last one.
Owed = Callable[[PipelineServices, Project, JobRecord], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectJob:
    """Work that each project owes once a period; `is_noted` says that the work itself notes its period."""

    name: str
    owed: Owed
    work: Callable[[PipelineServices, Project], None]
    is_noted: bool = False


def run_due(services: PipelineServices, job: ProjectJob) -> bool:
    """Do a job for every project that owes it; True where one still waits after a failed try.

    A project that fails is tried again alone, after a wait. ExceptionGroup of the failures.
    """
    records = services.catalog.job_records.of(job.name)
    due, is_waiting = {}, False
    for project in services.catalog.projects.all():
        record = records.get(project.id, NEVER_DONE)
        if _waits(record, services.clock()):
            is_waiting = True
        elif (period := job.owed(services, project, record)) is not None:
            due[f"project {project.id}"] = partial(_do, services, job, project, period)
    run_each(due)
    return is_waiting


def _do(services: PipelineServices, job: ProjectJob, project: Project, period: str) -> None:
    records = services.catalog.job_records
    try:
        records.note_try(job.name, project.id, now=services.clock())
        job.work(services, project)
        if not job.is_noted:
            records.note_done(job.name, project.id, period)
    except NotFoundError:
        logger.info("project %s was deleted before %s", project.id, job.name)
    except SnapshotStoppedError:
        logger.info("%s of project %s goes on after the next start", job.name, project.id)


def _waits(record: JobRecord, now: datetime) -> bool:
    """Tell whether the last try has failed, or ended the process, too short a time ago."""
    if record.tried_at is None or now < record.tried_at:
        return False
    return now < record.tried_at + min(FIRST_WAIT * (1 << min(record.tries - 1, 8)), LONGEST_WAIT)


def _slot(seconds: Callable[[Settings], int]) -> Owed:
    """Make the period of so many seconds, counted since 1970."""

    def owed(services: PipelineServices, _project: Project, record: JobRecord) -> str | None:
        length = timedelta(seconds=seconds(services.settings))
        slot = (EPOCH + (services.clock() - EPOCH) // length * length).isoformat()
        return slot if slot != record.period else None

    return owed


def _day_with_retention(services: PipelineServices, project: Project, record: JobRecord) -> str | None:
    today = local_day(services.clock(), project.timezone).isoformat()
    return today if project.retention_days is not None and today != record.period else None


def _night(services: PipelineServices, project: Project, record: JobRecord) -> str | None:
    nights = owed_nights(services.catalog, project, record, now=services.clock())
    if nights and record.period and nights[-1].isoformat() < record.period:
        logger.warning(
            "the clock was set back: the night of %s of project %s is to come again",
            record.period,
            project.id,
        )
    return nights[-1].isoformat() if nights else None


def _carry_out(kind: Kind, services: PipelineServices, project: Project) -> None:
    """Carry out a scheduled run; raises the error of a failed one."""
    run = Run(project_id=project.id, kind=kind, trigger="schedule", created_at=services.clock())
    error = services.runner.carry_out(run).error
    if error is not None:
        raise error


def _remove_old_events(services: PipelineServices, project: Project) -> None:
    before = services.clock() - timedelta(days=project.retention_days or 0)
    if removed := services.rollup.remove_old_events(project.id, before):
        logger.info("removed %d events of project %s, from before %s", removed, project.id, before)


def _write_event_files(services: PipelineServices, project: Project) -> None:
    services.ingest.load()
    write_due(services.warehouse, services.settings, project.id, now=services.clock())


def _move_weights(services: PipelineServices, project: Project) -> None:
    move_weights(services.catalog, services.results, project, clock=services.clock)


NIGHTS: Final = ProjectJob(name=NIGHTLY, owed=_night, work=partial(_carry_out, "rebuild"), is_noted=True)
RETENTION: Final = ProjectJob(
    name="remove_events_beyond_retention", owed=_day_with_retention, work=_remove_old_events
)
BANDITS: Final = ProjectJob(
    name="move_bandit_weights", owed=_slot(lambda settings: settings.bandit_seconds), work=_move_weights
)
EVENT_FILES: Final = ProjectJob(
    name="write_event_files", owed=_slot(lambda _: _HOUR), work=_write_event_files
)
SNAPSHOTS: Final = ProjectJob(
    name="write_snapshots",
    owed=_slot(lambda settings: settings.snapshot_seconds),
    work=partial(_carry_out, "snapshot"),
)
