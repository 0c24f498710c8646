"""Writing of a backup while the store is in use."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from pipeline.backup_manifest import (
    CATALOG,
    MANIFEST,
    SECRETS_KEY,
    SNAPSHOTS,
    UNFINISHED,
    WAREHOUSE,
    BackupError,
    BackupManifest,
    copied_paths,
    describe_file,
    key_digest,
    write_manifest,
)
from pipeline.disk_space import disk_full_errors, require_space
from pipeline.services import PipelineServices
from pipeline.settings import Settings
from pipeline.store.catalog.backends import sqlite_path
from pipeline.store.catalog.members import COMMAND_LINE
from pipeline.store.copies.catalog_copy import copy_to_file
from pipeline.store.copies.warehouse_copy import copy_warehouse
from pipeline.store.private_files import (
    FolderError,
    make_private_file,
    make_private_folder,
    restrict,
    sync_folder,
)

LOAD_SECONDS: Final = 60.0


def write_backup(store: PipelineServices, folder: Path, *, with_snapshots: bool) -> BackupManifest:
    """Write a backup of a store into a new or an empty folder, as of one moment.

    It holds every event that was acknowledged before the call. The store takes reads and writes meanwhile.
    The manifest comes last: a backup that was not finished has none. The audit trail of each account tells of
    it.

    Raises:
        BackupError: the folder is not empty or in the data folder, or events cannot be loaded at present.
        DiskFullError: the disk of the folder lacks the room; what was written is removed.
        FolderError: the folder cannot be written to.
    """
    settings = store.settings
    _require_outside(folder, settings)
    with _begun(folder), disk_full_errors():
        require_space(folder, settings.min_free_disk_bytes + _needed_bytes(settings, with_snapshots))
        if not store.ingest.load(LOAD_SECONDS):
            raise BackupError("acknowledged events cannot be loaded at present; the service's log says why")
        # This makes the key where there is none yet, so that the backup has it.
        digest = key_digest(settings)
        with ExitStack() as stack:
            if with_snapshots:
                stack.enter_context(store.snapshots.pause())
            taken_at = store.clock()
            # The catalog is copied as of the same moment; copying the warehouse may take minutes.
            copy_catalog = partial(copy_to_file, store.catalog.database, folder / CATALOG)
            last_seq = copy_warehouse(store.warehouse, folder / WAREHOUSE, at_begin=copy_catalog)
            _copy_files(settings, folder, with_snapshots)
        written = sorted(path for path in folder.rglob("*") if path.is_file())
        restrict(written)
        manifest = BackupManifest(
            taken_at=taken_at,
            last_seq=last_seq,
            key_digest=digest,
            files=tuple(describe_file(folder, path) for path in written if path.name != UNFINISHED),
        )
        _sync(folder)
        # Before the backup is whole: none is without its entry.
        store.catalog.audit.add_to_all(COMMAND_LINE, {"backed_up": [None, taken_at]})
        write_manifest(folder, manifest)
    return manifest


def _require_outside(folder: Path, settings: Settings) -> None:
    if folder.resolve().is_relative_to(settings.data_dir.resolve()):
        raise BackupError(f"{folder} is in the data folder, and would be lost with it; name another folder")


@contextmanager
def _begun(folder: Path) -> Iterator[None]:
    """Mark an empty folder as the one of a backup that is not finished; on failure empty it again."""
    try:
        make_private_folder(folder)
        if any(folder.iterdir()):
            hint = "an unfinished backup" if (folder / UNFINISHED).exists() else "something"
            raise BackupError(f"{folder} holds {hint} already; name a new or an empty folder")
        # Of two backups at once into one folder, one creates the file.
        os.close(os.open(folder / UNFINISHED, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError as error:
        raise BackupError(f"another backup is being written into {folder}") from error
    except OSError as error:
        raise FolderError(folder, error) from error
    try:
        yield
    except BaseException:
        # The manifest first: without it nothing looks whole.
        (folder / MANIFEST).unlink(missing_ok=True)
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        raise
    (folder / UNFINISHED).unlink()


def _needed_bytes(settings: Settings, with_snapshots: bool) -> int:  # noqa: FBT001 - the caller's choice
    catalog = sqlite_path(settings.effective_catalog_url)
    files = [settings.warehouse_path, *([catalog] if catalog else [])]
    folders = [*copied_paths(settings), *([settings.snapshots_path] if with_snapshots else [])]
    files += [path for folder in folders for path in (folder, *folder.rglob("*"))]
    sizes = 0
    for path in files:
        with suppress(FileNotFoundError):
            sizes += path.stat().st_size if path.is_file() else 0
    return sizes


def _copy_files(settings: Settings, folder: Path, with_snapshots: bool) -> None:  # noqa: FBT001 - see above
    for path in copied_paths(settings):
        name = SECRETS_KEY if path == settings.secrets_key_path else path.name
        _copy_tree(path, folder / name)
    if with_snapshots:
        _copy_tree(settings.snapshots_path, folder / SNAPSHOTS)


def _copy_tree(source: Path, target: Path) -> None:
    """Copy a file, or a folder with all that is in it; what vanishes meanwhile was not needed any more."""
    if source.is_dir():
        for path in source.iterdir():
            _copy_tree(path, target / path.name)
        return
    with suppress(FileNotFoundError):
        if source.stat():
            make_private_folder(target.parent)
            make_private_file(target)
            shutil.copyfile(source, target)


def _sync(folder: Path) -> None:
    """Return once all files and folders are on disk."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            sync_folder(path)
            continue
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
