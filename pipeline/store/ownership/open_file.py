"""Files that a process has open, compared with what is at their paths."""

import os
from pathlib import Path


class OpenFile:
    """A file as it was when it was opened."""

    def __init__(self, path: Path) -> None:
        """Remember the file at the path; OSError where there is none."""
        self.path = path
        self._opened = path.stat()

    def is_in_place(self) -> bool:
        """Tell whether it is still the file at its path, and not removed or replaced."""
        try:
            return os.path.samestat(self.path.stat(), self._opened)
        except OSError:
            return False
