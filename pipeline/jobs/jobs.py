"""Jobs: scheduled work of the service, with its intervals."""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from engine.design.project import Project
from engine.local_days import local_day
from pipeline.disk_space import DiskFullError
from pipeline.erasure.person_erasure import end_begun_erasures
from pipeline.jobs.bandits import move_weights
from pipeline.jobs.deletion import remove_deleted_projects
from pipeline.jobs.lifecycle import (
    CONVERSION_LIMIT,
    VISITOR_LIMIT,
    complete_at,
    complete_at_plan,
    complete_ended,
    complete_with_winner,
    start_scheduled,
)
from pipeline.jobs.look_recording import record_looks
from pipeline.run_each import run_each
from pipeline.runs.import_work import LEFT_FILES_KEPT_FOR, remove_left_imports
from pipeline.services import PipelineServices
from pipeline.settings import Settings
from pipeline.snapshots.writer import SnapshotStoppedError
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.runs.run_record import Kind, Run
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError
from pipeline.webhooks.webhook_messages import (
    announce_changed_results,
    deliver_messages,
    forget_old_deliveries,
)

logger = logging.getLogger(__name__)

_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Job:
    """Repeated work: `seconds` is the interval between starts, 0 for never."""

    name: str
    seconds: Callable[[Settings], int]
    run: Callable[[PipelineServices], None]


def refresh_results(services: PipelineServices) -> None:
    """Count new events of every unfinished experiment."""
    for project in services.catalog.projects.all():
        _run_for(services.runner.refresh, project)


def rebuild_after_midnight(services: PipelineServices) -> None:
    """Recount all results in each time zone where a day has begun since the last recount there.

    Comparing local days neither skips nor repeats a night when clocks change, and a night during which the
    service was down is made up for. ExceptionGroup of the failures.
    """
    by_zone: dict[str, list[Project]] = defaultdict(list)
    for project in services.catalog.projects.all():
        by_zone[project.timezone].append(project)
    run_each(
        {
            f"time zone {timezone}": partial(_rebuild_in_zone, services, timezone, projects)
            for timezone, projects in by_zone.items()
        }
    )


def _rebuild_in_zone(services: PipelineServices, timezone: str, projects: Sequence[Project]) -> None:
    today = local_day(services.clock(), timezone)
    with services.warehouse.transaction() as cursor:
        last = published.find_last_night(cursor, timezone)
    if last is not None and last > today:
        logger.warning("the clock was set back: the night of %s in %s is to come again", last, timezone)
    is_done = True
    if last is not None and last < today:
        # A list, since every project is tried whatever came of the others.
        rebuild = partial(_rebuild_and_keep, services)
        is_done = all([_run_for(rebuild, project) for project in projects])  # noqa: C419
    if is_done and last != today:
        with services.warehouse.transaction() as cursor:
            published.record_night(cursor, timezone, today)


def checkpoint(services: PipelineServices) -> None:
    """Write the warehouse's log into its file, between runs of the rollup and snapshots."""
    # A checkpoint is impossible while a snapshot reads tables that the rollup has replaced.
    with services.snapshots.pause(), services.rollup.pause():
        services.warehouse.checkpoint_when_idle()


def start_scheduled_experiments(services: PipelineServices) -> None:
    """Start every experiment whose scheduled start has come."""
    start_scheduled(services.catalog, now=services.clock())


def complete_scheduled_experiments(services: PipelineServices) -> None:
    """Complete every experiment whose scheduled end has come."""
    complete_ended(services.catalog, now=services.clock())


def complete_at_visitor_limit(services: PipelineServices) -> None:
    """Complete every experiment that has reached its visitor limit."""
    complete_at(VISITOR_LIMIT, services.catalog, services.results, now=services.clock())


def complete_at_planned_sample(services: PipelineServices) -> None:
    """Complete every group-sequential experiment at its planned sample."""
    complete_at_plan(services.catalog, services.results, now=services.clock())


def complete_at_conversion_limit(services: PipelineServices) -> None:
    """Complete every experiment whose primary goal has reached the conversion limit."""
    complete_at(CONVERSION_LIMIT, services.catalog, services.results, now=services.clock())


def complete_with_a_winner(services: PipelineServices) -> None:
    """Complete every experiment that stops at a winner and has a final one."""
    complete_with_winner(services.catalog, services.results, now=services.clock())


def record_due_looks(services: PipelineServices) -> None:
    """Record the looks that are due, so that verdicts do not depend on reads."""
    record_looks(services.catalog, services.results, now=services.clock())


def move_bandit_weights(services: PipelineServices) -> None:
    """Update the traffic weights of running bandits."""
    move_weights(services.catalog, services.results, clock=services.clock)


def write_snapshots(services: PipelineServices) -> None:
    """Write snapshots of every project; ExceptionGroup of the failures."""
    run_each(
        {
            f"project {project.id}": partial(_write_snapshot, services, project.id)
            for project in services.catalog.projects.all()
        }
    )


def start_queued_runs(services: PipelineServices) -> None:
    """Carry out runs that are still queued, such as those that a busy catalog has put off."""
    services.runner.wake_all()


def forget_old_runs(services: PipelineServices) -> None:
    """Delete the records of runs that ended long ago."""
    services.catalog.runs.delete_old(now=services.clock())


def remove_left_import_files(services: PipelineServices) -> None:
    """Remove files of imports that no run and no command awaits any more."""
    before = services.clock() - LEFT_FILES_KEPT_FOR
    remove_left_imports(services.settings, services.catalog.runs.all_unended(), before=before)


def remove_events_beyond_retention(services: PipelineServices) -> None:
    """Remove the events of each project that are older than it keeps them; ExceptionGroup of the failures."""
    run_each(
        {
            f"project {project.id}": partial(_remove_old_events, services, project)
            for project in services.catalog.projects.all()
            if project.retention_days is not None
        }
    )


def forget_expired_replies(services: PipelineServices) -> None:
    """Delete stored replies that have expired."""
    services.catalog.idempotency_keys.delete_expired(now=services.clock())


def write_refused_keys(services: PipelineServices) -> None:
    """Tell the audit trails of refused keys."""
    services.catalog.refused_keys.write()


REMOVE_DELETED: Final = Job("remove_deleted_projects", lambda _: _MINUTE, remove_deleted_projects)
JOBS: Final = (
    Job("refresh_results", lambda settings: settings.refresh_seconds, refresh_results),
    Job("rebuild_after_midnight", lambda _: 5 * _MINUTE, rebuild_after_midnight),
    Job("checkpoint", lambda _: 60 * _MINUTE, checkpoint),
    # Well under the minute by which a change may be late, since the rollup takes some of it.
    Job("start_scheduled_experiments", lambda _: _MINUTE // 4, start_scheduled_experiments),
    Job("complete_scheduled_experiments", lambda _: _MINUTE // 4, complete_scheduled_experiments),
    Job("complete_at_visitor_limit", lambda _: _MINUTE // 4, complete_at_visitor_limit),
    Job("complete_at_planned_sample", lambda _: _MINUTE // 4, complete_at_planned_sample),
    Job("complete_at_conversion_limit", lambda _: _MINUTE // 4, complete_at_conversion_limit),
    Job("complete_with_a_winner", lambda _: _MINUTE // 4, complete_with_a_winner),
    Job("record_due_looks", lambda _: 5 * _MINUTE, record_due_looks),
    Job("move_bandit_weights", lambda settings: settings.bandit_seconds, move_bandit_weights),
    REMOVE_DELETED,
    Job("write_snapshots", lambda settings: settings.snapshot_seconds, write_snapshots),
    Job("remove_events_beyond_retention", lambda _: 6 * 60 * _MINUTE, remove_events_beyond_retention),
    Job("forget_expired_replies", lambda _: 60 * _MINUTE, forget_expired_replies),
    Job("start_queued_runs", lambda _: _MINUTE, start_queued_runs),
    Job("deliver_messages", lambda _: 5, deliver_messages),
    Job("announce_changed_results", lambda _: 5 * _MINUTE, announce_changed_results),
    Job("end_begun_erasures", lambda _: _MINUTE, end_begun_erasures),
    Job("forget_old_deliveries", lambda _: 60 * _MINUTE, forget_old_deliveries),
    Job("forget_old_runs", lambda _: 60 * _MINUTE, forget_old_runs),
    Job("write_refused_keys", lambda _: _MINUTE, write_refused_keys),
    Job("remove_left_import_files", lambda _: 60 * _MINUTE, remove_left_import_files),
)


def _carry_out(services: PipelineServices, kind: Kind, project_id: str) -> None:
    """Carry out a scheduled run; raises the error of a failed one."""
    run = Run(project_id=project_id, kind=kind, trigger="schedule", created_at=services.clock())
    error = services.runner.carry_out(run).error
    if error is not None:
        raise error


def _rebuild_and_keep(services: PipelineServices, project_id: str) -> None:
    """Recount a project's results, and keep them as those of this night."""
    _carry_out(services, "rebuild", project_id)
    project = services.catalog.projects.find(project_id)
    run_each(
        {
            f"experiment {one.id}": partial(services.nights.keep, one, project, now=services.clock())
            for one in services.catalog.experiments.of_project(project_id)
        }
    )


def _write_snapshot(services: PipelineServices, project_id: str) -> None:
    # A project deleted meanwhile needs no snapshot.
    with suppress(NotFoundError, SnapshotStoppedError):
        _carry_out(services, "snapshot", project_id)


def _remove_old_events(services: PipelineServices, project: Project) -> None:
    # A project deleted meanwhile has no events.
    with suppress(NotFoundError):
        before = services.clock() - timedelta(days=project.retention_days or 0)
        removed = services.rollup.remove_old_events(project.id, before)
        if removed:
            logger.info("removed %d events of project %s, from before %s", removed, project.id, before)


def _run_for(run: Callable[[str], object], project: Project) -> bool:
    """Run for one project, and log a failure, so that the other projects follow.

    False where it is to be tried again once the warehouse can be written.
    """
    try:
        run(project.id)
    except (DiskFullError, WarehouseUnavailableError) as error:
        logger.warning("results of project %s are not counted at present: %s", project.id, error)
        return False
    except NotFoundError:
        logger.info("project %s was deleted before its results were counted", project.id)
    except Exception:
        logger.exception("results of project %s could not be counted", project.id)
    return True
