"""Query of Spark: a server of Spark Connect, or a cluster whose driver is this process."""

import os
import sys
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import polars as pl

from pipeline.store.source_databases.queries import Query, SourceDatabaseError, TimeLimit, columns_to_read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_CONNECT: Final = "sc://"
SPARK_MASTER: Final = "spark://"
_LOCAL: Final = "spark://local"
_LOCAL_PARTITIONS: Final = 4


def read_spark(
    location: str, query: Query, *, rows: int, columns: Sequence[str] | None = None
) -> Generator[pl.DataFrame, None, None]:
    """Yield the rows of a query as frames of at most so many rows.

    `sc://HOST:PORT` is a server of Spark Connect, `spark://HOST:PORT` a cluster, and `spark://local[2]` this
    machine. A session that others began goes on; one that began here ends.

    Raises:
        SourceDatabaseError: Spark cannot be reached, or refuses the query.
    """
    try:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra
        from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra
    except ImportError:
        raise SourceDatabaseError("reading Spark needs pyspark: pip install 'truelift[spark]'") from None
    limit = TimeLimit.of(query)
    try:
        with _session(location) as session, _interrupted(session, limit):
            for statement in query.session:
                session.sql(statement)
            found = session.sql(query.remark + query.statement)
            chosen, most_rows = columns_to_read(found.columns, columns, query.most_rows)
            selected = found.select(*(found[f"`{name}`"] for name in chosen))
            with warnings.catch_warnings():
                # It looks for pandas, which is not used.
                warnings.simplefilter("ignore", FutureWarning)
                table = (selected if most_rows is None else selected.limit(most_rows)).toArrow()
    except (PySparkException, Py4JError, OSError) as error:
        if limit is not None and limit.is_over:
            raise limit.error from None
        raise SourceDatabaseError(_first_line(str(error))) from None
    frame = pl.DataFrame(table)
    yield frame.clear()
    yield from frame.iter_slices(rows)


@contextmanager
def _session(location: str) -> Iterator["SparkSession"]:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    if location.startswith(SPARK_CONNECT):
        builder = SparkSession.builder.remote(location)
    else:
        is_local = location.startswith(_LOCAL)
        builder = SparkSession.builder.master(location.removeprefix(SPARK_MASTER) if is_local else location)
        if is_local:
            # Executors on this machine use this Python, whatever `python3` is here.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            # Of the usual 200, most would be empty here, and each takes a task.
            builder = builder.config("spark.sql.shuffle.partitions", _LOCAL_PARTITIONS)
    had_one = SparkSession.getActiveSession() is not None
    session = builder.appName("truelift").getOrCreate()
    # Its settings are this query's own.
    session = session if location.startswith(SPARK_CONNECT) else session.newSession()
    try:
        yield session
    finally:
        if not had_one:
            session.stop()


@contextmanager
def _interrupted(session: "SparkSession", limit: TimeLimit | None) -> Iterator[None]:
    """Interrupt what a session does once its time is over."""
    if limit is None:
        yield
        return
    tag = f"truelift-{uuid4().hex}"
    session.addTag(tag)
    timer = Timer(limit.seconds, session.interruptTag, [tag])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _first_line(report: str) -> str:
    return next((line.strip() for line in report.splitlines() if line.strip()), "no reason is given")
