"""Spark: steps on the executors of a cluster, with a shuffle by part between them."""

import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import polars as pl

from pipeline.distributed.engine import Step
from pipeline.distributed.event_files import EventTable, UnusableEventsError
from pipeline.distributed.executor_versions import MARK, ExecutorVersionsError, version_check
from pipeline.distributed.part_frames import SPARK_SCHEMA, unpack

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.core.broadcast import Broadcast
    from pyspark.sql import DataFrame, SparkSession

_SETTINGS: Final = {
    "spark.app.name": "truelift rollup",
    "spark.ui.showConsoleProgress": "false",
    # A part is a task: few large ones are not put together.
    "spark.sql.adaptive.enabled": "false",
    # A row holds the rows of a part from one batch of events, so a thousand of them are large.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    # Tasks run beside each other, one for each core.
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
}
_UNUSABLE: Final = re.compile(rf"{UnusableEventsError.__name__}: (.+)")
_DIFFERENCE: Final = re.compile(rf"{MARK} (.+)")
_MISSING: Final = re.compile(r"ModuleNotFoundError: (No module named '[\w.]+')")


class SparkFailedError(Exception):
    """Spark could not be started, or has given up a step; the message says why."""


class SparkCluster:
    """Engine of the executors of a Spark session; all of them can read the `files` under the same paths."""

    def __init__(self, session: "SparkSession", files: "Sequence[Path | EventTable]") -> None:
        """Use a session that has started; use `SparkCluster.open` instead."""
        self._session = session
        self._files = [one.resolve() if isinstance(one, Path) else one for one in files]

    @classmethod
    @contextmanager
    def open(
        cls, files: "Sequence[Path | EventTable]", *, master: str, settings: dict[str, str] | None = None
    ) -> Iterator[Self]:
        """Start a session on the cluster `master`, which ends with the block; raises SparkFailedError.

        `settings` of Spark come after those of its own files.
        """
        with warnings.catch_warnings():
            # No pandas is used, but PySpark warns of the one that is installed.
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            session = _start(master, {**_SETTINGS, **(settings or {})})
            try:
                session.sparkContext.setLogLevel("OFF")
                yield cls(session, files)
            finally:
                session.stop()

    @property
    def cores(self) -> int:
        """Number of tasks that run beside each other."""
        return int(self._session.sparkContext.defaultParallelism)

    def run(self, step: Step) -> Iterator[pl.DataFrame]:
        """Yield the result of each part that has rows.

        Raises SparkFailedError, ExecutorVersionsError, and UnusableEventsError of a step.
        """
        from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra
        from pyspark import StorageLevel  # noqa: PLC0415 - an extra
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

        # Every executor fetches a step once, however many tasks it has.
        shared = self._session.sparkContext.broadcast(step)
        results = self._results(shared, step.parts).persist(StorageLevel.DISK_ONLY)
        try:
            # All parts at once: the iterator below would have one computed after another.
            results.count()
            for row in results.toLocalIterator():
                yield unpack(row["content"])
        except (PySparkException, Py4JError) as error:
            raise _translated(str(error)) from error
        finally:
            results.unpersist()
            shared.unpersist()

    def _results(self, shared: "Broadcast[Step]", parts: int) -> "DataFrame":
        """Plan the results of a step: a row for each part."""
        check = version_check()

        # Functions inside of this one are sent as code, so that they can say that this module is missing.
        def split(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            check()
            from pipeline.distributed import part_frames  # noqa: PLC0415 - imported by the executor

            for batch in batches:
                numbers = batch.column(0).to_pylist()
                yield from part_frames.split_files(shared.value, [files.value[one] for one in numbers])

        def apply(sent: "pa.Table") -> "pa.Table":
            check()
            from pipeline.distributed import part_frames  # noqa: PLC0415 - imported by the executor

            return part_frames.apply_part(shared.value, sent)

        self._session.conf.set("spark.sql.shuffle.partitions", str(parts))
        files = self._session.sparkContext.broadcast(self._files)
        numbers = [(number,) for number in range(len(self._files))]
        spread = self._session.sparkContext.parallelize(numbers, len(self._files))
        sent = self._session.createDataFrame(spread, "file int").mapInArrow(split, SPARK_SCHEMA)
        return sent.groupBy("part").applyInArrow(apply, SPARK_SCHEMA)


def _start(master: str, settings: dict[str, str]) -> "SparkSession":
    try:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError:
        raise SparkFailedError("Spark is not installed here; pip install 'truelift[spark]'") from None
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    if master.startswith("local"):
        # Executors on this machine use this Python, whatever `python3` is here.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise SparkFailedError(
            f"Spark could not be started on {master} (it needs Java 17 or newer here, and a cluster that "
            f"answers): {_first_line(str(error))}"
        ) from error


def _translated(report: str) -> Exception:
    """Find the cause in a report of Spark's, which has the traceback of the executor."""
    if found := _DIFFERENCE.search(report):
        return ExecutorVersionsError(f"the packages of an executor differ {found[1]}")
    if found := _MISSING.search(report):
        return ExecutorVersionsError(f"an executor lacks packages ({found[1]})")
    if found := _UNUSABLE.search(report):
        return UnusableEventsError(found[1])
    return SparkFailedError(f"Spark has given up: {_first_line(report)}")


def _first_line(report: str) -> str:
    return next((line.strip() for line in report.splitlines() if line.strip()), "no reason is given")
