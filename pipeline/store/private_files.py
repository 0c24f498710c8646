"""Files and folders of a store: readable and writable by their owner only, and synced."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

OWNERS_FILE: Final = 0o600
OWNERS_FOLDER: Final = 0o700
# Files that a process makes from now on have no bit of these.
_OTHERS: Final = 0o077


def hide_new_files() -> None:
    """Make the files and folders that this process creates from now on readable by its user only.

    DuckDB creates its log anew after each checkpoint, with no mode of its own.
    """
    os.umask(_OTHERS)


class FolderError(OSError):
    """A folder that cannot be created or written to."""

    def __init__(self, folder: Path, error: OSError) -> None:
        """Name the folder and the system's reason."""
        super().__init__(f"the folder {folder} cannot be used: {error.strerror or error}")


def make_private_folder(folder: Path) -> None:
    """Create a folder and its parents, new ones for their owner only; OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=OWNERS_FOLDER, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Create an empty file for its owner only, unless there is one."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE))


def write_for_owner(folder: Path, name: str, content: bytes) -> None:
    """Write a new file in a folder, both for the owner of the folder's parent only; OSError.

    A link is not followed: an administrator may write into a folder of another user.
    """
    if os.name == "nt":
        (folder / name).write_bytes(content)
        return
    owner = folder.parent.stat()
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    draft = f"{name}.new"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE, dir_fd=opened)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if os.geteuid() == 0:
                os.fchown(opened, owner.st_uid, owner.st_gid)
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        os.rename(draft, name, src_dir_fd=opened, dst_dir_fd=opened)
    finally:
        os.close(opened)


def remove_files(paths: Iterable[Path], *, before: datetime | None = None) -> None:
    """Remove files, or only those that were last written `before` a time; OSError."""
    for path in paths:
        with suppress(FileNotFoundError):
            if before is None or path.stat().st_mtime < before.timestamp():
                path.unlink()


def sync_folder(folder: Path) -> None:
    """Return once the names of a folder's files are on disk; OSError."""
    # Windows syncs the entries of folders by itself, and cannot open them.
    if os.name != "nt":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def restrict(paths: Iterable[Path]) -> None:
    """Take all rights of others from files and folders; those of another user stay as they are."""
    for path in paths:
        with suppress(OSError):
            found = path.lstat()
            # A folder that many share, such as /tmp, is no folder of a store alone.
            if stat.S_ISLNK(found.st_mode) or found.st_mode & stat.S_ISVTX:
                continue
            if found.st_mode & _OTHERS:
                path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
