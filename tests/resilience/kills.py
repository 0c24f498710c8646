"""Loops of kills during work on a store, after each of which every part of it is old or new."""

import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pipeline.inspection import inspect_store
from pipeline.settings import Settings
from tests.forked import CONTEXT
from tests.resilience import workers
from tests.waiting import wait_until

# Kills of one store before the work is at last left to end.
CHAIN = 3
ATTEMPTS = 20
State = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run of the work: its exit status, its length in seconds, and the points that it passed."""

    status: int
    seconds: float
    points: int | None


@dataclass
class Workers:
    """Starts work in processes of its own, and counts those that were killed."""

    kills: int = field(default=0)

    def run(
        self,
        work: str,
        data_dir: Path,
        *,
        point: int | None = None,
        after: float | None = None,
        once: Callable[[], object] | None = None,
    ) -> Run:
        """Do the work in a process of its own.

        Kill it at a point, after so many seconds, `once` something holds, or never.
        """
        answers, told = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=workers.run, args=(work, data_dir, point, told))
        process.start()
        told.close()
        assert _answer(answers) is not None, f"{work} failed before it began"
        begun = time.monotonic()
        if after is not None:
            process.join(after)
            process.kill()
        if once is not None:
            wait_until(once)
            process.kill()
        points = _answer(answers)
        process.join()
        assert process.exitcode is not None
        self.kills += process.exitcode == -signal.SIGKILL
        return Run(process.exitcode, time.monotonic() - begun, points)

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


def _answer(answers: Connection) -> int | None:
    """Return the next answer of a process; None where it was killed before."""
    try:
        answer: int = answers.recv()
    except EOFError:
        return None
    return answer


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
