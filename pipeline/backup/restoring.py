"""Restoration of a backup into an empty data folder."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pipeline.backup_manifest import (
    CATALOG,
    SNAPSHOTS,
    WAREHOUSE,
    BackupError,
    BackupManifest,
    key_digest,
    read_manifest,
    require_intact,
)
from pipeline.disk_space import disk_full_errors, require_space
from pipeline.erased_keys import copy_erasures
from pipeline.settings import Settings
from pipeline.store.catalog.backends import sqlite_path
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.copies.catalog_copy import copy_from_file, upgrade_file
from pipeline.store.ownership.store_lock import locked_store
from pipeline.store.private_files import make_private_file, make_private_folder, restrict

# Files are copied here first; a restoration that was killed leaves it, and the next one begins anew.
STAGED: Final = "restoring"


def restore_backup(folder: Path, settings: Settings, *, erasures: Path | None = None) -> BackupManifest:
    """Verify a backup, and make it the store of the settings, which sends no webhooks until that is lifted.

    `erasures` is a data folder, or a newer backup, whose list of erased persons is taken over.

    The data folder has to be empty, and so has the database of a catalog on PostgreSQL. The catalog's file
    comes last: a store that lacks it is refused by every command.

    Raises:
        BackupError: the backup is not whole, its key is missing, or there is something already.
        CatalogError: the catalog is of a newer version, or its database cannot be reached.
        DiskFullError: the disk of the data folder lacks the room.
        StoreOwnedError: another process uses the data folder.
    """
    manifest = read_manifest(folder)
    require_intact(folder, manifest)
    _require_key(folder, manifest, settings)
    _require_empty(settings, manifest)
    with locked_store(settings), disk_full_errors(), _staging(settings) as staged:
        require_space(settings.data_dir, settings.min_free_disk_bytes + manifest.total_bytes)
        for file in manifest.files:
            make_private_folder((staged / file.path).parent)
            shutil.copyfile(folder / file.path, staged / file.path)
        restrict(staged.rglob("*"))
        # What was read from a disk a second time may differ from what was verified.
        require_intact(staged, manifest)
        upgrade_file(staged / CATALOG)
        if erasures is not None:
            copy_erasures(erasures, staged)
        # The store that was backed up may still be there, and tell the same endpoints.
        make_private_file(staged / settings.held_webhooks_path.name)
        _place(staged, settings)
    return manifest


def _require_key(folder: Path, manifest: BackupManifest, settings: Settings) -> None:
    """Require the encryption key of the store, in the backup or in the settings."""
    if settings.secrets_key is None and not manifest.has_secrets_key:
        raise BackupError(
            "the key of the store was in TRUELIFT_SECRETS_KEY, and is not in the backup: set it to the same"
        )
    found = settings if settings.secrets_key else settings.model_copy(update={"data_dir": folder})
    if key_digest(found) != manifest.key_digest:
        raise BackupError(
            "TRUELIFT_SECRETS_KEY is not the key of the store that was backed up: set it to the same, or "
            "unset it where the backup holds secrets.key"
        )


def _require_empty(settings: Settings, manifest: BackupManifest) -> None:
    found = [] if not settings.data_dir.is_dir() else sorted(settings.data_dir.iterdir())
    # Lock files stay when their process ends, and so does what a killed restoration copied.
    left = [path.name for path in found if path.suffix != ".lock" and path.name != STAGED]
    if left:
        raise BackupError(
            f"the data folder {settings.data_dir} holds {left[0]} already; a backup is restored into an "
            "empty folder: name another by --data-dir, or move its content away"
        )
    target = settings.snapshots_path
    has_snapshots = any(file.path.startswith(f"{SNAPSHOTS}/") for file in manifest.files)
    if has_snapshots and target.is_dir() and any(target.iterdir()):
        raise BackupError(f"the folder of snapshots {target} is not empty; move its content away")
    if sqlite_path(settings.effective_catalog_url) is None:
        _require_empty_catalog(settings)


def _require_empty_catalog(settings: Settings) -> None:
    catalog = Catalog.open(settings)
    try:
        if catalog.accounts.all() or catalog.warehouses.find():
            raise BackupError("the database of TRUELIFT_CATALOG_URL is not empty; name an empty one")
    finally:
        catalog.close()


@contextmanager
def _staging(settings: Settings) -> Iterator[Path]:
    """Make an empty folder within the data folder, removed at the end."""
    staged = settings.data_dir / STAGED
    shutil.rmtree(staged, ignore_errors=True)
    make_private_folder(staged)
    try:
        yield staged
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _place(staged: Path, settings: Settings) -> None:
    """Move everything to its place; the warehouse, and last the catalog, after all others."""
    first = [path for path in staged.iterdir() if path.name not in {CATALOG, WAREHOUSE, SNAPSHOTS}]
    for path in first:
        path.rename(settings.data_dir / path.name)
    if (staged / SNAPSHOTS).is_dir():
        _place_snapshots(staged / SNAPSHOTS, settings.snapshots_path)
    (staged / WAREHOUSE).rename(settings.warehouse_path)
    catalog_path = sqlite_path(settings.effective_catalog_url)
    if catalog_path is None:
        catalog = Catalog.open(settings)
        try:
            copy_from_file(staged / CATALOG, catalog.database)
        finally:
            catalog.close()
    else:
        (staged / CATALOG).rename(catalog_path)


def _place_snapshots(staged: Path, target: Path) -> None:
    make_private_folder(target)
    for path in staged.iterdir():
        # The folder of snapshots may be on another disk.
        shutil.move(path, target / path.name)
