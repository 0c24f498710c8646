"""What the service does by itself, and how often."""

import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.design.project import Project
from engine.local_days import local_day
from pipeline.jobs.bandits import move_weights
from pipeline.jobs.deletion import remove_deleted
from pipeline.jobs.lifecycle import (
    CONVERSION_LIMIT,
    PLANNED_SAMPLE,
    VISITOR_LIMIT,
    complete_at,
    complete_ended,
    complete_with_winner,
    start_scheduled,
)
from pipeline.rollup.run import Outcome
from pipeline.services import PipelineServices
from pipeline.settings import Settings
from pipeline.store.warehouse import published

logger = logging.getLogger(__name__)

_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Job:
    """Work done again and again: `seconds` is how long after the last start, 0 for never."""

    name: str
    seconds: Callable[[Settings], int]
    run: Callable[[PipelineServices], None]


def refresh_results(services: PipelineServices) -> None:
    """Count what came in for every experiment that is not over."""
    for project in services.catalog.projects.all():
        _attempt(services.rollup.refresh, project)


def rebuild_after_midnight(services: PipelineServices) -> None:
    """Count everything anew in each time zone that a new day has begun in since this was last done.

    Asking which zones passed midnight neither skips nor doubles a night when clocks change, and a night
    that the service slept through is made up for.
    """
    by_zone: dict[str, list[Project]] = defaultdict(list)
    for project in services.catalog.projects.all():
        by_zone[project.timezone].append(project)
    for timezone, projects in by_zone.items():
        today = local_day(services.clock(), timezone)
        with services.warehouse.transaction() as cursor:
            last = published.find_last_night(cursor, timezone)
        if last is not None and last < today:
            for project in projects:
                _attempt(services.rollup.rebuild, project)
        if last is None or last < today:
            with services.warehouse.transaction() as cursor:
                published.record_night(cursor, timezone, today)


def checkpoint(services: PipelineServices) -> None:
    """Move the warehouse's log into its file, between runs of the rollup and snapshots."""
    # Tables that the rollup replaced while a snapshot still reads them keep a checkpoint from being made.
    with services.snapshots.pause(), services.rollup.pause():
        services.warehouse.checkpoint()


def start_scheduled_experiments(services: PipelineServices) -> None:
    """Start what was scheduled to start by now."""
    start_scheduled(services.catalog, now=services.clock())


def complete_scheduled_experiments(services: PipelineServices) -> None:
    """Complete what was scheduled to end by now."""
    complete_ended(services.catalog, now=services.clock())


def complete_at_visitor_limit(services: PipelineServices) -> None:
    """Complete what has as many visitors as it was to have."""
    complete_at(VISITOR_LIMIT, services.catalog, services.results, now=services.clock())


def complete_at_planned_sample(services: PipelineServices) -> None:
    """Complete what takes its last look at a planned sample that is there."""
    complete_at(PLANNED_SAMPLE, services.catalog, services.results, now=services.clock())


def complete_at_conversion_limit(services: PipelineServices) -> None:
    """Complete what has as many conversions of its primary goal as it was to have."""
    complete_at(CONVERSION_LIMIT, services.catalog, services.results, now=services.clock())


def complete_with_a_winner(services: PipelineServices) -> None:
    """Complete what was to end as soon as a variant wins for good."""
    complete_with_winner(services.catalog, services.results, now=services.clock())


def move_bandit_weights(services: PipelineServices) -> None:
    """Send new visitors of bandits to what is best so far."""
    move_weights(services.catalog, services.results, clock=services.clock)


def remove_deleted_projects(services: PipelineServices) -> None:
    """Remove what deleted projects had collected, wherever that is not done yet."""
    remove_deleted(services.catalog, services.warehouse, services.ingest, services.rollup, services.snapshots)


def write_snapshots(services: PipelineServices) -> None:
    """Copy what is stored into files that other programs may read."""
    services.snapshots.write_all()


def forget_expired_replies(services: PipelineServices) -> None:
    """Remove kept answers that are no longer given again."""
    services.catalog.replies.forget_expired(now=services.clock())


REMOVE_DELETED: Final = Job("remove_deleted_projects", lambda _: _MINUTE, remove_deleted_projects)
JOBS: Final = (
    Job("refresh_results", lambda settings: settings.refresh_seconds, refresh_results),
    Job("rebuild_after_midnight", lambda _: 5 * _MINUTE, rebuild_after_midnight),
    Job("checkpoint", lambda _: 60 * _MINUTE, checkpoint),
    # What is due is at most a minute late, and the rollup may take some of it.
    Job("start_scheduled_experiments", lambda _: _MINUTE // 4, start_scheduled_experiments),
    Job("complete_scheduled_experiments", lambda _: _MINUTE // 4, complete_scheduled_experiments),
    Job("complete_at_visitor_limit", lambda _: _MINUTE // 4, complete_at_visitor_limit),
    Job("complete_at_planned_sample", lambda _: _MINUTE // 4, complete_at_planned_sample),
    Job("complete_at_conversion_limit", lambda _: _MINUTE // 4, complete_at_conversion_limit),
    Job("complete_with_a_winner", lambda _: _MINUTE // 4, complete_with_a_winner),
    Job("move_bandit_weights", lambda settings: settings.bandit_seconds, move_bandit_weights),
    REMOVE_DELETED,
    Job("write_snapshots", lambda settings: settings.snapshot_seconds, write_snapshots),
    Job("forget_expired_replies", lambda _: 60 * _MINUTE, forget_expired_replies),
)


def _attempt(run: Callable[[str], Outcome], project: Project) -> None:
    """Run for one project; what goes wrong there does not keep the others waiting."""
    try:
        run(project.id)
    except Exception:
        logger.exception("results of project %s could not be counted", project.id)
