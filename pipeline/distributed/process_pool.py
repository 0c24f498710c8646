"""Process pool: steps on the cores of one machine, with parts in files between them."""

import pickle
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Self

import polars as pl

from pipeline.distributed.engine import Step
from pipeline.distributed.event_files import EventTable
from pipeline.distributed.part_frames import put_together, split_file
from pipeline.distributed.worker_threads import use_one_thread


class WorkerEndedError(Exception):
    """A worker process was killed, most often for lack of memory."""

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__(
            "a worker process was ended by the system, most often for lack of memory; "
            "use fewer --workers, or more --parts"
        )


class ProcessPool:
    """Engine of worker processes over files of events; parts are in files in `folder` meanwhile."""

    def __init__(
        self, executor: ProcessPoolExecutor, files: Sequence[Path | EventTable], folder: Path
    ) -> None:
        """Use the workers of `executor`; use `ProcessPool.open` instead."""
        self._executor = executor
        self._files = files
        self._folder = folder

    @classmethod
    @contextmanager
    def open(cls, files: Sequence[Path | EventTable], folder: Path, *, workers: int) -> Iterator[Self]:
        """Start so many workers, which end with the block."""
        executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=use_one_thread)
        try:
            yield cls(executor, files, folder)
        finally:
            executor.shutdown(cancel_futures=True)

    def run(self, step: Step) -> Iterator[pl.DataFrame]:
        """Yield the result of each part that has rows; raises WorkerEndedError."""
        folder = self._folder / step.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        # Every worker reads a step once, however many files and parts it has.
        pickled = folder / "step.pickle"
        pickled.write_bytes(pickle.dumps(step))
        try:
            splits = [
                self._executor.submit(_split, pickled, path, number)
                for number, path in enumerate(self._files)
            ]
            parts = sorted({part for split in as_completed(splits) for part in split.result()})
            applied = [self._executor.submit(_apply, pickled, part) for part in parts]
            for one in as_completed(applied):
                yield one.result()
        except BrokenProcessPool as error:
            raise WorkerEndedError from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=1)
def _read(pickled: Path, _written_ns: int) -> Step:
    step: Step = pickle.loads(pickled.read_bytes())  # noqa: S301 # written by this run, in its own folder
    return step


def _step(pickled: Path) -> Step:
    return _read(pickled, pickled.stat().st_mtime_ns)


def _split(pickled: Path, path: Path | EventTable, number: int) -> set[int]:
    """Write the rows of a file of events into files by part; return the parts."""
    step = _step(pickled)
    found = set()
    for batch, by_part in enumerate(split_file(step, path)):
        for part, rows in by_part.items():
            found.add(part)
            folder = pickled.parent / f"{part}"
            folder.mkdir(exist_ok=True)
            rows.write_ipc(folder / f"{number}-{batch}.arrow", compression="lz4")
    return found


def _apply(pickled: Path, part: int) -> pl.DataFrame:
    step = _step(pickled)
    folder = pickled.parent / f"{part}"
    rows = put_together(step, (pl.read_ipc(path) for path in sorted(folder.iterdir())))
    shutil.rmtree(folder)
    return step.apply(part, rows)
