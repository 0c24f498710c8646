"""Steps that leave a file for each executor that carries them out, or end one executor."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipeline.distributed.engine import Step
from pipeline.distributed.spark_cluster import SparkCluster


@dataclass(frozen=True, slots=True)
class WatchedStep:
    """A step that notes its executors in `folder`; `killed` is the name of the step that ends one of them."""

    step: Step
    folder: Path
    killed: str | None

    @property
    def name(self) -> str:
        return self.step.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.step.columns

    @property
    def parts(self) -> int:
        return self.step.parts

    @property
    def sent(self) -> pl.Schema:
        return self.step.sent

    @property
    def returned(self) -> pl.Schema:
        return self.step.returned

    def split(self, events: pl.DataFrame) -> pl.DataFrame:
        self._note()
        return self.step.split(events)

    def apply(self, part: int, rows: pl.DataFrame) -> pl.DataFrame:
        executor = self._note()
        if self.killed == self.name:
            # Once only, or the step would never end.
            try:
                (self.folder / "killed").touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(executor, signal.SIGKILL)
        return self.step.apply(part, rows)

    def _note(self) -> int:
        executor = parent_of(os.getppid())
        (self.folder / f"executor-{executor}").touch()
        return executor


@dataclass(frozen=True, slots=True)
class WatchedCluster:
    """Engine that carries out watched steps on a cluster."""

    cluster: SparkCluster
    folder: Path
    killed: str | None = None

    def run(self, step: Step) -> Iterator[pl.DataFrame]:
        return self.cluster.run(WatchedStep(step, self.folder, self.killed))

    def executors(self) -> int:
        return len([*self.folder.glob("executor-*")])


def parent_of(process: int) -> int:
    """Read the parent of a process: that of the daemon that starts Python workers is the executor."""
    stat = Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])
