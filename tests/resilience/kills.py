"""Loops of kills during work on a store, after each of which every part of it is old or new."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.inspection import inspect_store
from pipeline.settings import Settings
from tests.resilience.killing import REPOSITORY
from tests.waiting import wait_until

# Kills of one store before the work is at last left to end.
CHAIN = 3
ATTEMPTS = 20
# The file that an import reads, beside the store.
IMPORTED = "visitors.csv"
# Rows that it is read in at once.
CHUNK_ROWS = 5_000
# The files that describe sources, beside the store.
SOURCES = ("seen.toml", "orders.toml")
# The file in which a worker notes the requests that were answered, beside the store.
ACKNOWLEDGED = "acknowledged"
State = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run of the work: its exit status, its length in seconds, and the points that it passed."""

    status: int
    seconds: float
    points: int | None


@dataclass
class Workers:
    """The process that forks the workers."""

    process: subprocess.Popen[str]
    kills: int = field(default=0)

    def run(self, work: str, data_dir: Path, *, point: int | None = None, after: float | None = None) -> Run:
        """Do the work in a process of its own; kill it at a point, after so many seconds, or never."""
        request = {"work": work, "data_dir": str(data_dir), "point": point}
        assert self.process.stdin is not None
        self.process.stdin.write(f"{json.dumps(request)}\n")
        self.process.stdin.flush()
        process_id, begun = self._answer().get("pid"), time.monotonic()
        assert process_id is not None, f"{work} failed before it began"
        if after is not None:
            moment = begun + after
            wait_until(lambda: time.monotonic() >= moment)
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        answer = self._answer()
        points = answer.get("points")
        status = answer["status"] if points is None else self._answer()["status"]
        self.kills += status == -signal.SIGKILL
        return Run(status, time.monotonic() - begun, points)

    def finish(self, work: str, data_dir: Path, *, point: int | None = None) -> Run:
        """Do the work to its end; a `point` of 0 counts the points."""
        run = self.run(work, data_dir, point=point)
        assert run.status == 0
        return run

    def kill(self, work: str, data_dir: Path, *, after: float) -> None:
        """Kill the work after so many seconds, or sooner where it ends before."""
        for _ in range(ATTEMPTS):
            if self.run(work, data_dir, after=after).status == -signal.SIGKILL:
                return
            after *= 0.7

    def _answer(self) -> dict[str, int]:
        assert self.process.stdout is not None
        answer: dict[str, int] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def the_workers() -> Iterator[Workers]:
    command = [sys.executable, "-m", "tests.resilience.workers"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        yield Workers(process)
        assert process.stdin is not None
        process.stdin.close()


@dataclass(frozen=True)
class KillLoop:
    """A loop of kills of one kind of work on copies of the store `prepared`.

    `read` reads the state of a store by part; it may change the store, and gets a copy. Numbers that `grow`
    may also be between old and new.
    """

    workers: Workers
    work: str
    prepared: Path
    scratch: Path
    read: Callable[[Path], State]
    grow: frozenset[str] = frozenset()

    def survive(self, kills: int, *, seed: int) -> Path:
        """Kill the work so often, and check each part after each; return a store where it came to its end."""
        old = self._state(self.prepared)
        reference = self._copy(self.prepared, "reference")
        points = self.workers.finish(self.work, reference, point=0).points
        new = self._state(reference)
        # A single kill is at a point.
        timed = self._copy(self.prepared, "timed")
        seconds = self.workers.finish(self.work, timed).seconds if kills > 1 else 0.0
        moments, before = random.Random(seed), self.workers.kills  # noqa: S311 (moments, not secrets)
        for number in range(kills):
            if number % CHAIN == 0:
                store = self._copy(self.prepared, f"store {number}")
            if number % 2 == 0:
                # A run that finds less to do ends before the point.
                point = 1 + int((number + moments.random()) / kills * (points or 0))
                self.workers.run(self.work, store, point=point)
            else:
                self.workers.kill(self.work, store, after=moments.random() * seconds)
            self._assert_old_or_new(self._state(store), old, new)
            if number % CHAIN == CHAIN - 1 or number == kills - 1:
                # The next start goes on by itself.
                self.workers.finish(self.work, store)
                assert self._state(store) == new
                assert list(inspect_store(Settings(data_dir=store))) == []
        assert self.workers.kills - before >= kills * 2 // 3
        return store

    def _copy(self, store: Path, name: str) -> Path:
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        return Path(shutil.copytree(store, folder))

    def _state(self, store: Path) -> State:
        return self.read(self._copy(store, "read"))

    def _assert_old_or_new(self, found: State, old: State, new: State) -> None:
        """Check that each part is as before the work or as after it; to be absent is a state, too."""
        parts = {*found, *old, *new} - self.grow
        wrong = {
            part: found.get(part) for part in parts if found.get(part) not in (old.get(part), new.get(part))
        }
        assert wrong == {}
        assert all(old.get(part, 0) <= found.get(part, 0) <= new[part] for part in self.grow)
