"""Jobs: scheduled work of the service, with its intervals."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.design.project import Project
from pipeline.disk_space import DiskFullError
from pipeline.erasure.person_erasure import end_begun_erasures
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
from pipeline.jobs.project_jobs import BANDITS, EVENT_FILES, NIGHTS, RETENTION, SNAPSHOTS, run_due
from pipeline.jobs.ramps import guide_ramps
from pipeline.runs.import_work import LEFT_FILES_KEPT_FOR, remove_left_imports
from pipeline.services import PipelineServices
from pipeline.settings import Settings
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.ownership.catalog_damage import structural_damage
from pipeline.store.ownership.damage import DamagedStoreError
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError
from pipeline.webhooks.project_news import announce_project_news
from pipeline.webhooks.webhook_messages import (
    announce_changed_results,
    deliver_messages,
    forget_old_deliveries,
)

logger = logging.getLogger(__name__)

_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Job:
    """Repeated work: `seconds` is the interval between starts, 0 for never.

    `run` returns True where a part of it that failed is not tried again yet.
    """

    name: str
    seconds: Callable[[Settings], int]
    run: Callable[[PipelineServices], bool | None]


def refresh_results(services: PipelineServices) -> None:
    """Count new events of every unfinished experiment."""
    for project in services.catalog.projects.all():
        _refresh(services, project)


def rebuild_after_midnight(services: PipelineServices) -> bool:
    """Recount each project where a day has begun, after the imports of its night, and keep its reports."""
    return run_due(services, NIGHTS)


def checkpoint(services: PipelineServices) -> None:
    """Write the warehouse's log into its file, between runs of the rollup and snapshots."""
    # A checkpoint is impossible while a snapshot reads tables that the rollup has replaced.
    with services.snapshots.pause(), services.rollup.pause():
        services.warehouse.checkpoint_when_idle()


def give_back_memory(services: PipelineServices) -> None:
    """Give back what the warehouse has cached while it was busy, once it is idle."""
    # A smaller limit of memory might end a run or a snapshot.
    with services.snapshots.pause(), services.rollup.pause():
        services.warehouse.shrink_idle_cache()


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


def guide_running_ramps(services: PipelineServices) -> None:
    """Act on harm in experiments with a ramp, and take its steps."""
    guide_ramps(services.catalog, services.results, services.ramp_findings, now=services.clock())


def record_due_looks(services: PipelineServices) -> None:
    """Record the looks that are due, so that verdicts do not depend on reads."""
    record_looks(services.catalog, services.due_looks, now=services.clock())


def move_bandit_weights(services: PipelineServices) -> bool:
    """Update the traffic weights of running bandits, once a period."""
    return run_due(services, BANDITS)


def write_snapshots(services: PipelineServices) -> bool:
    """Write a snapshot of every project, once a period."""
    return run_due(services, SNAPSHOTS)


def write_event_files(services: PipelineServices) -> bool:
    """Write the new events of every project where the settings say, once an hour."""
    return run_due(services, EVENT_FILES)


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


def remove_events_beyond_retention(services: PipelineServices) -> bool:
    """Remove the events of each project that are older than it keeps them, once a day."""
    return run_due(services, RETENTION)


def verify_catalog(services: PipelineServices) -> None:
    """Verify the file of the catalog on SQLite; DamagedStoreError."""
    path = services.catalog.database.path
    damage = structural_damage(path) if path is not None else None
    if damage is not None:
        raise DamagedStoreError(f"the catalog {path} is damaged: {damage}")


def forget_expired_replies(services: PipelineServices) -> None:
    """Delete stored replies that have expired."""
    services.catalog.idempotency_keys.delete_expired(now=services.clock())


def write_refused_keys(services: PipelineServices) -> None:
    """Tell the audit trails of refused keys."""
    services.catalog.refused_keys.write()


REMOVE_DELETED: Final = Job("remove_deleted_projects", lambda _: _MINUTE, remove_deleted_projects)
JOBS: Final = (
    Job("refresh_results", lambda settings: settings.refresh_seconds, refresh_results),
    # Those that projects owe once a period, which the catalog knows, are asked for every minute.
    Job("rebuild_after_midnight", lambda _: _MINUTE, rebuild_after_midnight),
    Job("move_bandit_weights", lambda settings: min(_MINUTE, settings.bandit_seconds), move_bandit_weights),
    Job("write_snapshots", lambda settings: min(_MINUTE, settings.snapshot_seconds), write_snapshots),
    Job("write_event_files", lambda settings: _MINUTE if settings.event_files else 0, write_event_files),
    Job("remove_events_beyond_retention", lambda _: _MINUTE, remove_events_beyond_retention),
    Job("checkpoint", lambda _: 60 * _MINUTE, checkpoint),
    Job("give_back_memory", lambda _: 5 * _MINUTE, give_back_memory),
    # Well under the minute by which a change may be late, since the rollup takes some of it.
    Job("start_scheduled_experiments", lambda _: _MINUTE // 4, start_scheduled_experiments),
    Job("complete_scheduled_experiments", lambda _: _MINUTE // 4, complete_scheduled_experiments),
    Job("complete_at_visitor_limit", lambda _: _MINUTE // 4, complete_at_visitor_limit),
    Job("complete_at_planned_sample", lambda _: _MINUTE // 4, complete_at_planned_sample),
    Job("complete_at_conversion_limit", lambda _: _MINUTE // 4, complete_at_conversion_limit),
    Job("complete_with_a_winner", lambda _: _MINUTE // 4, complete_with_a_winner),
    Job("guide_running_ramps", lambda _: _MINUTE // 4, guide_running_ramps),
    Job("record_due_looks", lambda _: 5 * _MINUTE, record_due_looks),
    REMOVE_DELETED,
    # The start verifies it, too.
    Job("verify_catalog", lambda _: 24 * 60 * _MINUTE, verify_catalog),
    Job("forget_expired_replies", lambda _: 60 * _MINUTE, forget_expired_replies),
    Job("start_queued_runs", lambda _: _MINUTE, start_queued_runs),
    Job("deliver_messages", lambda _: 5, deliver_messages),
    Job("announce_changed_results", lambda _: 5 * _MINUTE, announce_changed_results),
    Job("announce_project_news", lambda _: _MINUTE, announce_project_news),
    Job("end_begun_erasures", lambda _: _MINUTE, end_begun_erasures),
    Job("forget_old_deliveries", lambda _: 60 * _MINUTE, forget_old_deliveries),
    Job("forget_old_runs", lambda _: 60 * _MINUTE, forget_old_runs),
    Job("write_refused_keys", lambda _: _MINUTE, write_refused_keys),
    Job("remove_left_import_files", lambda _: 60 * _MINUTE, remove_left_import_files),
)


def _refresh(services: PipelineServices, project: Project) -> None:
    """Refresh one project, and log a failure, so that the other projects follow."""
    try:
        services.runner.refresh(project.id)
    except (DiskFullError, WarehouseUnavailableError) as error:
        logger.warning("results of project %s are not counted at present: %s", project.id, error)
    except NotFoundError:
        logger.info("project %s was deleted before its results were counted", project.id)
    except Exception:
        logger.exception("results of project %s could not be counted", project.id)
