"""Backup of a store that an earlier version wrote, made before this version migrates it."""

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from pipeline.backup_manifest import (
    CATALOG,
    SECRETS_KEY,
    WAREHOUSE,
    BackupError,
    BackupFile,
    BackupManifest,
    copied_paths,
    key_digest,
    require_intact,
    write_manifest,
)
from pipeline.disk_space import DiskFullError, disk_full_errors, free_bytes
from pipeline.settings import Settings
from pipeline.store.catalog.backends import sqlite_path
from pipeline.store.catalog.migrate import needs_migration
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.private_files import make_private_folder, sync_folder

logger = logging.getLogger(__name__)

FOLDER: Final = "before-upgrade"
_UNFINISHED: Final = f"{FOLDER}.unfinished"
_AT_ONCE: Final = 8 * 2**20
# What the names of a database's files end with: itself, its log, and the mark of its newest commit.
_DATABASE_FILES: Final = ("", ".wal", "-wal", ".mark")


def back_up_before_migration(settings: Settings, *, now: datetime) -> Path | None:
    """Copy the files of a store that this version has to migrate; return the folder, None for other stores.

    The caller holds the lock of the store, and has not opened it. The copy is a backup as `truelift restore`
    takes it, in `before-upgrade` of the data folder; one of an earlier upgrade is replaced. A catalog on
    PostgreSQL is not in it, and it has no manifest then. Whatever happens, the store stays as it is.

    Raises:
        BackupError: a copy is not as its file.
        DiskFullError: the disk lacks the room.
    """
    if not (settings.backup_before_upgrade and needs_migration(settings.effective_catalog_url)):
        return None
    folder, begun = settings.data_dir / FOLDER, settings.data_dir / _UNFINISHED
    for left in (folder, begun):
        shutil.rmtree(left, ignore_errors=True)
    # Where there is no key yet, it is made now, and so it is in the copy.
    digest, sources = key_digest(settings), dict(_sources(settings))
    _require_room(settings, sum(path.stat().st_size for path in sources.values()))
    try:
        with disk_full_errors():
            make_private_folder(begun)
            files = tuple(_copy(path, begun, name) for name, path in sources.items())
            manifest = BackupManifest(
                taken_at=now,
                last_seq=CommitMark(settings.warehouse_path).read(),
                key_digest=digest,
                files=files,
            )
            # Read from the disk once more.
            require_intact(begun, manifest)
            if CATALOG in sources:
                write_manifest(begun, manifest)
            sync_folder(begun)
            begun.rename(folder)
            sync_folder(settings.data_dir)
    except BaseException:
        shutil.rmtree(begun, ignore_errors=True)
        raise
    logger.info("the store of an earlier version was copied to %s before its migration", folder)
    return folder


def _sources(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yield the files of the store, by their path within a backup: databases, their logs, and the spool."""
    catalog = sqlite_path(settings.effective_catalog_url)
    databases = [(WAREHOUSE, settings.warehouse_path), *([(CATALOG, catalog)] if catalog else [])]
    for name, database in databases:
        for end in _DATABASE_FILES:
            path = database.with_name(database.name + end)
            if path.is_file():
                yield name + end, path
    for part in (*copied_paths(settings), settings.spool_path):
        top = SECRETS_KEY if part == settings.secrets_key_path else part.name
        for path in (part, *sorted(part.rglob("*"))):
            if path.is_file():
                yield (Path(top) / path.relative_to(part)).as_posix(), path


def _require_room(settings: Settings, needed: int) -> None:
    free = free_bytes(settings.data_dir) - settings.min_free_disk_bytes
    if free < needed:
        raise DiskFullError(
            f"the store is of an earlier version, and is copied before it is migrated: that needs "
            f"{needed / 2**20:,.0f} MiB, and {max(free, 0) / 2**20:,.0f} MiB are free. Make room; or keep a "
            "copy elsewhere, and set TRUELIFT_BACKUP_BEFORE_UPGRADE=false"
        )


def _copy(source: Path, folder: Path, name: str) -> BackupFile:
    """Copy and sync a file; return it with the digest of what was read."""
    target, digest = folder / name, hashlib.sha256()
    make_private_folder(target.parent)
    with source.open("rb") as read, target.open("xb") as written:
        while chunk := read.read(_AT_ONCE):
            digest.update(chunk)
            written.write(chunk)
        written.flush()
        os.fsync(written.fileno())
        size = written.tell()
    if size != source.stat().st_size:
        raise BackupError(f"{source} changed while it was copied; another program writes to the store")
    return BackupFile(path=name, bytes=size, sha256=digest.hexdigest())
