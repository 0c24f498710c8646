"""Marks of the newest commit, beside a database: they tell that its log was lost or damaged."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from pipeline.store.private_files import OWNERS_FILE
from pipeline.store.sealed_files import BrokenSealError, seal, unseal

_SUFFIX: Final = ".mark"
_DIGITS: Final = 20


class CommitMark:
    """The number of the newest commit that may have been acknowledged.

    It is written after each commit and before its acknowledgement, and is not synced: it survives the end of
    the process, and after a power cut it is at worst too low, so that no intact database is ever suspected.
    """

    def __init__(self, database: Path) -> None:
        """Name the file that the mark stands beside."""
        self.path = database.with_name(database.name + _SUFFIX)

    def read(self) -> int:
        """Return the number; 0 where there is none, or a damaged one."""
        try:
            return int(unseal(self.path.read_bytes()))
        except (OSError, ValueError):
            return 0

    def write(self, number: int) -> None:
        """Replace the number; a full disk leaves the old one, which is too low."""
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, OWNERS_FILE)
            try:
                # One write of a fixed length, so that a reader finds the old number or the new one.
                os.write(descriptor, seal(b"%0*d" % (_DIGITS, number)))
            finally:
                os.close(descriptor)


def is_damaged_mark(path: Path) -> bool:
    """Return whether a mark is not as it was written; False for what a power cut leaves of one."""
    try:
        content = path.read_bytes().strip(b"\0")
        found = unseal(content)
    except OSError:
        return False
    except BrokenSealError:
        return True
    # A mark of an earlier version is a number alone.
    return bool(content) and found == content and not content.strip().isdigit()
