"""Lock files: exclusive locks that the system releases when their process ends."""

import os
import sys
from pathlib import Path
from typing import Self

from pipeline.store.private_files import OWNERS_FILE

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class LockHeldError(Exception):
    """Another process holds the lock; `note` is what it has written into the file."""

    def __init__(self, path: Path, note: bytes) -> None:
        """Keep the path of the file and its content, which may be empty."""
        self.path = path
        self.note = note
        super().__init__(f"{path} is locked by another process")


class FileLock:
    """An exclusive lock on a file; the file stays after the release, since removing it would be a race."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take over an open and locked file; use `FileLock.take` instead."""
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, note: bytes) -> Self:
        """Lock the file, created where it is absent, and write `note` into it; LockHeldError, OSError."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), OWNERS_FILE)
        try:
            _lock(descriptor)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, note)
        except (BlockingIOError, PermissionError) as error:
            held = LockHeldError(path, _content(descriptor))
            os.close(descriptor)
            raise held from error
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def write_note(self, note: bytes) -> None:
        """Replace the note of the held lock; OSError."""
        # Shortened afterwards, so that a reader never finds an empty file.
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, note)
        os.ftruncate(self._descriptor, len(note))

    def is_in_place(self) -> bool:
        """Tell whether the locked file is still the one at its path."""
        try:
            found = self.path.stat()
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self._descriptor))

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def note_of_holder(path: Path) -> bytes | None:
    """Read the note of the process that holds a lock; None while it is free."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return None
    try:
        _lock(descriptor, is_shared=True)
    except (BlockingIOError, PermissionError):
        return _content(descriptor)
    finally:
        os.close(descriptor)
    return None


def _lock(descriptor: int, *, is_shared: bool = False) -> None:
    # Never a lock of `fcntl.lockf`: that is lost as soon as this process closes any descriptor of the file.
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _content(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
