"""Files that are whole or not there, and their owner's alone."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_OWNERS_FILE: Final = 0o600
_OWNERS_FOLDER: Final = 0o700
# No pattern such as `*.parquet` finds a file that is not whole yet.
_DRAFT: Final = ".part"


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """Give an empty file to fill; at the end it is on disk, and only then has the name `path`.

    Where filling it fails nothing is left of it, and a file that had the name before stays.
    """
    make_folder(path.parent)
    draft = path.with_name(path.name + _DRAFT)
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNERS_FILE))
    try:
        yield draft
        _sync(draft, os.O_RDWR)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # Where folders cannot be opened, as on Windows, a rename is all there is.
    with suppress(PermissionError):
        _sync(path.parent, os.O_RDONLY)


def make_folder(folder: Path) -> None:
    """Make a folder, and those it is in, unless it is there; new ones are their owner's alone."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(mode=_OWNERS_FOLDER, exist_ok=True)


def sweep(folder: Path, kept: Collection[str]) -> None:
    """Remove every file in `folder` but those `kept` (paths within it), and folders that are empty then."""
    if not folder.is_dir():
        return
    for found in sorted(folder.rglob("*"), reverse=True):
        if found.is_dir() and not found.is_symlink():
            # Not empty: something in it is kept.
            with suppress(OSError):
                found.rmdir()
        elif found.relative_to(folder).as_posix() not in kept:
            found.unlink(missing_ok=True)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
