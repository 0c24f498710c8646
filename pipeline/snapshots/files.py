"""Atomic files, readable by their owner only."""

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Final

from pipeline.store.private_files import OWNERS_FILE, make_private_folder

# Patterns such as `*.parquet` do not match unfinished files.
_DRAFT: Final = ".part"


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """Yield an empty file to fill; at the end it is synced to disk and renamed to `path`.

    On failure the file is removed, and an older file at `path` stays.
    """
    make_private_folder(path.parent)
    draft = path.with_name(path.name + _DRAFT)
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE))
    try:
        yield draft
        _sync(draft, os.O_RDWR)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # Folders cannot be opened on Windows; there the rename has to do.
    with suppress(PermissionError):
        _sync(path.parent, os.O_RDONLY)


def digest_of(path: Path, checked_on: date | None = None) -> str:
    """Compute the SHA-256 of a file, in hex; once a process and `checked_on` while its size and time stay."""
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns, status.st_ino, checked_on)


def sweep(folder: Path, kept: Collection[str]) -> None:
    """Remove all files in `folder` except `kept` (paths within it), and folders left empty."""
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            # Folders with kept files are not empty.
            with suppress(OSError):
                path.rmdir()
        elif path.relative_to(folder).as_posix() not in kept:
            path.unlink(missing_ok=True)


@lru_cache(maxsize=65_536)
def _digest(path: Path, _size: int, _mtime_ns: int, _inode: int, _checked_on: date | None) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
