"""Free disk space, and errors of a full disk."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

RETRY_AFTER_SECONDS: Final = 30
# A limit on the size of files counts as a full disk too.
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DiskFullError(Exception):
    """The disk is full, or nearly; nothing was written, and a retry succeeds once there is space again."""

    def __init__(self, message: str) -> None:
        """Say what could not be written."""
        self.retry_after = RETRY_AFTER_SECONDS
        super().__init__(message)


def free_bytes(folder: Path) -> int:
    """Measure the space that this process may still use on the disk of an existing folder."""
    statistics = os.statvfs(folder)
    return statistics.f_bavail * statistics.f_frsize


def require_space(folder: Path, min_free_bytes: int) -> None:
    """Raise DiskFullError where the disk of an existing folder has less free space."""
    free = free_bytes(folder)
    if free < min_free_bytes:
        raise DiskFullError(
            f"the disk has {free / 2**20:,.0f} MiB free, and the service stops writing below "
            f"{min_free_bytes / 2**20:,.0f} MiB; try again once there is space"
        )


@contextmanager
def disk_full_errors() -> Iterator[None]:
    """Turn the operating system's errors of a full disk into DiskFullError."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFullError("the disk is full; try again once there is space") from error
        raise
