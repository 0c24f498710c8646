"""Pool of processes: the results of one machine, and one sentence where a worker is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from pipeline.distributed.distributed_rollup import Extent, roll_up
from pipeline.distributed.event_files import find_files
from pipeline.distributed.output import new_output
from pipeline.distributed.process_pool import ProcessPool, WorkerEndedError
from pipeline.rollup.aggregates import add_up, negate
from tests.builders import NOW
from tests.pipeline.distributed.drawn_projects import CountedProject
from tests.pipeline.working_store import WorkingStore

WORKERS = 2


@dataclass(frozen=True, slots=True)
class WorkerStep:
    """Tell the process that a part was in, once every worker has one; or end that process."""

    folder: Path
    parts: ClassVar[int] = WORKERS
    name: ClassVar[str] = "workers"
    columns: ClassVar[tuple[str, ...]] = ("seq",)
    sent: ClassVar[pl.Schema] = pl.Schema({"seq": pl.Int64})
    returned: ClassVar[pl.Schema] = pl.Schema({"process": pl.Int64})
    is_killed: bool = False

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        return events.with_columns((pl.col("seq") % WORKERS).cast(pl.UInt32).alias("part"))

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:
        if self.is_killed:
            os.kill(os.getpid(), signal.SIGKILL)
        assert (rows["seq"] % WORKERS == part).all()
        (self.folder / f"{part}").touch()
        # A part waits for the others, so that no process can have both.
        deadline = time.monotonic() + 300
        while len([*self.folder.iterdir()]) < WORKERS:
            assert time.monotonic() < deadline
            os.sched_yield()
        return pl.DataFrame({"process": [os.getpid()]}, schema=self.returned)


@pytest.fixture(scope="module")
def counted(store: WorkingStore) -> CountedProject:
    return CountedProject.draw(store, 500)


@pytest.fixture(scope="module")
def pool(counted: CountedProject, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessPool]:
    folder, _ = counted.snapshot()
    files = find_files(folder, counted.project.id)
    with ProcessPool.open(files, tmp_path_factory.mktemp("pool"), workers=WORKERS) as opened:
        yield opened


@pytest.mark.long(seconds=9)
def test_every_worker_gets_parts(pool: ProcessPool, tmp_path: Path) -> None:
    found = pl.concat(pool.run(WorkerStep(tmp_path)))
    assert found["process"].n_unique() == WORKERS
    assert os.getpid() not in found["process"]


def test_workers_import_no_catalog() -> None:
    program = "import pipeline.distributed.steps.counting, sys; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\n"


@pytest.mark.long(seconds=12)
def test_a_pool_gives_the_results_of_one_machine(
    pool: ProcessPool, counted: CountedProject, tmp_path: Path
) -> None:
    wanted = counted.digests()
    assert min(one.digest[0] for one in wanted) > 0
    with new_output(tmp_path / "out", replace=False) as draft:
        extent = Extent(parts=3, at_once=1000, now=NOW)
        roll_up(pool, counted.project, counted.experiments, extent, draft)
    for before, after in zip(wanted, counted.digests_of(tmp_path / "out"), strict=True):
        assert after.digest == before.digest
        assert add_up([after.cells, negate(before.cells)]).is_empty()


@pytest.mark.long(seconds=9)
def test_a_killed_worker_is_said_in_a_sentence(counted: CountedProject, tmp_path: Path) -> None:
    folder, _ = counted.snapshot()
    files = find_files(folder, counted.project.id)
    with (
        ProcessPool.open(files, tmp_path, workers=1) as pool,
        pytest.raises(WorkerEndedError, match="use fewer --workers, or more --parts"),
    ):
        list(pool.run(WorkerStep(tmp_path, is_killed=True)))
    assert list(tmp_path.iterdir()) == []
