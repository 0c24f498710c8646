"""Marks of the newest commit, beside a database: they tell that its log was lost or damaged."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from pipeline.store.private_files import OWNERS_FILE

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
        """Return the number; 0 where there is none."""
        try:
            return int(self.path.read_bytes())
        except (OSError, ValueError):
            return 0

    def write(self, number: int) -> None:
        """Replace the number; a full disk leaves the old one, which is too low."""
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, OWNERS_FILE)
            try:
                # One write of a fixed length, so that a reader finds the old number or the new one.
                os.write(descriptor, b"%0*d\n" % (_DIGITS, number))
            finally:
                os.close(descriptor)
