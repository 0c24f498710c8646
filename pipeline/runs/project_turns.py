"""Turns of projects: one run of a project at a time, for all threads."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class ProjectTurns:
    """Exclusive turns of each project; `on_free` is called after a turn during which another was refused.

    Whatever waits for a turn gets it before further attempts, however many there are.
    """

    def __init__(self, on_free: Callable[[str], None]) -> None:
        self._on_free = on_free
        self._changed = threading.Condition()
        self._taken: set[str] = set()
        self._waiting: Counter[str] = Counter()
        self._refused: set[str] = set()

    @contextmanager
    def wait(self, project_id: str) -> Iterator[None]:
        """Wait for the project's turn, and hold it inside the block."""
        with self._changed:
            self._waiting[project_id] += 1
            try:
                self._changed.wait_for(lambda: project_id not in self._taken)
                self._taken.add(project_id)
            finally:
                self._waiting -= Counter((project_id,))
        try:
            yield
        finally:
            self._end(project_id)

    @contextmanager
    def attempt(self, project_id: str) -> Iterator[bool]:
        """Hold the project's turn inside the block; False where another has it or waits for it."""
        with self._changed:
            is_free = project_id not in self._taken and not self._waiting[project_id]
            (self._taken if is_free else self._refused).add(project_id)
        try:
            yield is_free
        finally:
            if is_free:
                self._end(project_id)

    def _end(self, project_id: str) -> None:
        with self._changed:
            self._taken.discard(project_id)
            is_free = not self._waiting[project_id]
            was_refused = is_free and project_id in self._refused
            if is_free:
                self._refused.discard(project_id)
            self._changed.notify_all()
        if was_refused:
            self._on_free(project_id)
