"""Examination of an installation: disk, permissions, clock, catalog and runs, with a service and without."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from pipeline.disk_space import free_bytes
from pipeline.inspection import inspect_store
from pipeline.rollup.whole_counts import FAULTS
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.catalog.runs.run_record import Run
from pipeline.store.ownership.damage import DamagedStoreError

Status = Literal["ok", "warning", "problem", "not_checked"]
# A clock that is set back by so little harms nothing.
_CLOCK_SLACK: Final = timedelta(minutes=1)
_RECENT: Final = timedelta(days=1)
_LONG_QUEUED: Final = timedelta(hours=1)
_RUNS_OF_PROJECT: Final = 50
_MIB: Final = 2**20
# Readable by the group or by everybody.
_OTHERS: Final = 0o077

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Examined:
    """What was examined, what was found in a sentence, and what to do; empty where there is nothing to do."""

    part: str
    status: Status
    finding: str
    action: str = ""


def examine(settings: Settings, *, is_served: bool, now: datetime) -> Iterator[Examined]:
    """Examine the installation of a store; the parts of a store that nobody serves against each other, too.

    The caller holds the lock of a store that is not served.
    """
    yield from _examined("data folder", lambda: [_folder(settings.data_dir)])
    yield from _examined("permissions", lambda: [_privacy(settings)])
    yield from _examined("disk", lambda: [_disk(settings)])
    yield from _examined("webhooks", lambda: _webhooks(settings))
    yield from _examined("catalog", lambda: _catalog(settings, now))
    yield from _examined("store", lambda: _store(settings, is_served=is_served))


def _examined(part: str, check: Callable[[], Iterable[Examined]]) -> list[Examined]:
    """Return what a check found; one that raises is logged by its part, and hides no other."""
    found: list[Examined] = []
    try:
        found.extend(check())
    except Exception as error:
        logger.exception("the check of the %s failed", part)
        found.append(
            Examined(
                part,
                "not_checked",
                f"the {part} could not be checked: {error!r}",
                "report it as a defect of truelift, with the error in the log",
            )
        )
    return found


def _store(settings: Settings, *, is_served: bool) -> Iterator[Examined]:
    if is_served:
        yield Examined(
            "store",
            "not_checked",
            "the service owns the store, whose parts are compared while it is stopped",
            "run `truelift check` after the service has stopped, where you doubt the store",
        )
        return
    findings = inspect_store(settings)
    yield from (Examined(one.part, "problem", one.problem, one.action) for one in findings)
    if not findings:
        yield Examined("store", "ok", "catalog, warehouse, sequence numbers and snapshots fit together")


def _folder(folder: Path) -> Examined:
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Examined(
            "data folder",
            "problem",
            f"this user may not write into {folder}",
            "run the command and the service as the user that owns the folder",
        )
    return Examined("data folder", "ok", f"{folder} can be read and written")


def _privacy(settings: Settings) -> Examined:
    is_closed = settings.data_dir.stat().st_mode & _OTHERS == 0
    files = [] if is_closed else [path for path in settings.data_dir.iterdir() if path.is_file()]
    open_files = sorted(
        path.name for path in files if path.stat().st_mode & _OTHERS and path.suffix != ".lock"
    )
    if open_files:
        return Examined(
            "permissions",
            "warning",
            f"other users of this machine may read {', '.join(open_files)}",
            f"chmod -R go= {settings.data_dir}",
        )
    return Examined("permissions", "ok", "only the owner of the data folder can read its files")


def _disk(settings: Settings) -> Examined:
    free = free_bytes(settings.data_dir)
    log = settings.warehouse_path.with_name(f"{settings.warehouse_path.name}.wal")
    said = f"{free / _MIB:,.0f} MiB are free on the disk of {settings.data_dir}"
    if free < settings.min_free_disk_bytes:
        limit = f"{settings.min_free_disk_bytes / _MIB:,.0f} MiB"
        return Examined(
            "disk",
            "problem",
            f"{said}; below {limit} events are refused",
            "free space, or enlarge the disk; nothing that was acknowledged is lost",
        )
    needed = settings.min_free_disk_bytes + 2 * (log.stat().st_size if log.exists() else 0)
    if free < 2 * needed:
        return Examined(
            "disk", "warning", f"{said}, which is soon too little", "free space, or enlarge the disk"
        )
    return Examined("disk", "ok", said)


def _webhooks(settings: Settings) -> Iterator[Examined]:
    if settings.held_webhooks_path.exists():
        yield Examined(
            "webhooks",
            "warning",
            "the store was restored, and sends no webhooks",
            "once this is the store that is to tell your endpoints, run `truelift webhooks resume`",
        )


def _catalog(settings: Settings, now: datetime) -> Iterator[Examined]:
    try:
        catalog = Catalog.open(settings)
    except (DamagedStoreError, CatalogError) as error:
        yield Examined("catalog", "problem", str(error), "restore a backup, or mend what the sentence names")
        return
    try:
        yield Examined("catalog", "ok", "the catalog can be read, in the version of this program")
        yield from _examined("clock", lambda: [_clock(catalog, now)])
        yield from _examined("runs", lambda: _runs(catalog, now))
    finally:
        catalog.close()


def _clock(catalog: Catalog, now: datetime) -> Examined:
    newest = catalog.audit.newest_time()
    if newest is not None and newest - now > _CLOCK_SLACK:
        return Examined(
            "clock",
            "problem",
            f"the clock says {now:%Y-%m-%d %H:%M} UTC, and the last change was at {newest:%Y-%m-%d %H:%M}",
            "set the clock of this machine, by NTP if it can be",
        )
    return Examined("clock", "ok", "the clock is not behind the last change")


def _runs(catalog: Catalog, now: datetime) -> Iterator[Examined]:
    """Tell of runs of the last day that failed or found drift, and of those that wait for long."""
    is_fine = True
    for project in catalog.projects.all():
        # Newest first.
        recent = catalog.runs.page(project.id, page=1, per_page=_RUNS_OF_PROJECT).items
        for examined in _of_project(f"{project.name} ({project.id})", recent, now):
            is_fine = False
            yield examined
    if is_fine:
        yield Examined(
            "runs", "ok", "no run of the last day failed, found drift or a difference, or waits for long"
        )


def _of_project(name: str, newest_first: Iterable[Run], now: datetime) -> Iterator[Examined]:
    seen: set[str] = set()
    for run in newest_first:
        if run.drift and now - run.created_at < _RECENT:
            yield Examined(
                "drift",
                "problem",
                f"{name}: results of {', '.join(run.drift)} differed from their events; run {run.id} counted "
                "them anew",
                "report it as a defect of truelift, with that run",
            )
        if run.result.get("reason") in FAULTS and now - run.created_at < _RECENT:
            yield Examined(
                "counts",
                "problem",
                f"{name}: {run.result['why']}; run {run.id} counted everything anew",
                "find out what changed the store; import events that are lost again, or restore them",
            )
        if run.status == "queued" and now - run.created_at > _LONG_QUEUED:
            yield Examined(
                "runs",
                "warning",
                f"{name}: run {run.id} waits since {run.created_at:%Y-%m-%d %H:%M} UTC",
                "start the service, which carries out queued runs",
            )
        # Only the newest ended run of a kind says how it is now.
        is_newest = run.has_ended and run.kind not in seen
        seen |= {run.kind} if run.has_ended else set()
        if is_newest and run.status in {"failed", "interrupted"} and now - run.created_at < _RECENT:
            yield Examined(
                "runs",
                "problem",
                f"{name}: the last run of kind {run.kind} ({run.id}) has {run.status}: "
                f"{run.error or 'no reason is known'}",
                "mend what the reason names, and start the run again with `truelift rollup`",
            )
