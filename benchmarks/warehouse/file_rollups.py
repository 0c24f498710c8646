"""Rollup of files of events by a pool of two processes, and by Spark on two executors, against one process.

Each runs in a process of its own, and all come to the same visitor rows and money. Processor time is that
of all processes, with the start of Java and of the workers; memory is that of the largest one.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.warehouse.many_events import EXPERIMENTS, PROJECT, PROJECT_ID, fill
from benchmarks.warehouse.rollup import rollup
from pipeline.clock import utc_now
from pipeline.distributed.distributed_rollup import Extent, choose_parts, roll_up
from pipeline.distributed.engine import Engine
from pipeline.distributed.event_files import count_events, find_files
from pipeline.distributed.process_pool import ProcessPool
from pipeline.distributed.spark_cluster import SparkCluster
from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Warehouse, fetch_frame
from pipeline.store.warehouse.visitors import result_table

FILES = 8
CORES = 2
# Of each experiment: visitor rows, cents.
Totals = list[list[int]]


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Time each on 10 million events with user ids at scale 1, and check that all give the same totals."""
    count = int(10_000_000 * scale)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "store", count, identified=True)
        _export(folder)
        measured = {worker: _measure(worker, folder) for worker in WORKERS}
    one = measured["one process"]
    for worker, other in measured.items():
        if other["totals"] != one["totals"]:
            raise RuntimeError(f"{worker} comes to {other['totals']}, one process to {one['totals']}")
    return [
        {
            "": worker,
            "seconds": f"{found['seconds']:.1f}",
            "CPU seconds": f"{found['cpu']:.1f}",
            "largest process": f"{found['peak_mb']:,} MB",
            "this / one process, CPU": f"{found['cpu'] / one['cpu']:.2f}",
            "shuffled, a million events": f"{found['shuffled'] / count:.1f} MB" if found["shuffled"] else "",
        }
        for worker, found in measured.items()
    ]


def in_one_process(folder: Path) -> tuple[Totals, int]:
    """Count the store in `folder` as the service does."""
    warehouse = Warehouse.open(Settings(data_dir=folder / "store"))
    rollup(warehouse)
    with warehouse.cursor() as cursor:
        query = "SELECT count(*) AS rows, sum(g1_cents)::BIGINT AS cents FROM {}"
        tables = [result_table("visitors", one.id) for one in EXPERIMENTS]
        totals = [list(fetch_frame(cursor, query.format(table)).row(0)) for table in tables]
    warehouse.close()
    return totals, 0


def in_pool(folder: Path) -> tuple[Totals, int]:
    """Count the files by processes."""
    with ProcessPool.open(_files(folder), folder / "pool", workers=CORES) as pool:
        return _totals_of(pool, folder), 0


def on_spark(folder: Path) -> tuple[Totals, int]:
    """Count the files by executors, and return the bytes that they have sent to each other, too."""
    (folder / "log").mkdir()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "log").as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }
    os.environ["SPARK_WORKER_DIR"] = str(folder / "executors")
    with SparkCluster.open(_files(folder), master="local-cluster[2,1,1024]", settings=settings) as cluster:
        totals = _totals_of(cluster, folder)
    # Here, as the workers of the pool import this module, too.
    from pyspark import SparkContext  # noqa: PLC0415

    # The processor time of Java, and of what it has started, is known once it has ended.
    java = SparkContext._gateway.proc  # type: ignore[union-attr] # noqa: SLF001 - there is no other way to it
    java.stdin.close()
    java.wait()
    (log,) = (folder / "log").iterdir()
    tasks = [json.loads(line) for line in log.read_text().splitlines() if "SparkListenerTaskEnd" in line]
    written = [one["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"] for one in tasks]
    return totals, sum(written)


WORKERS: dict[str, Callable[[Path], tuple[Totals, int]]] = {
    "one process": in_one_process,
    "pool of 2 processes": in_pool,
    "Spark, 2 executors": on_spark,
}


def _totals_of(engine: Engine, folder: Path) -> Totals:
    output = folder / f"by_{type(engine).__name__}"
    parts = choose_parts(count_events(_files(folder)), cores=CORES)
    extent = Extent(parts=parts, at_once=Settings().rollup_bucket_events, now=utc_now())
    roll_up(engine, PROJECT, EXPERIMENTS, extent, output)
    rows = pl.scan_parquet(output / "0" / "visitors" / "*.parquet")
    summed = rows.group_by("experiment").agg(pl.len(), pl.col("g1_cents").cast(pl.Int64).sum())
    return [list(row[1:]) for row in summed.sort("experiment").collect().rows()]


def _files(folder: Path) -> list[Path]:
    return find_files(folder / "events", PROJECT_ID)


def _export(folder: Path) -> None:
    (folder / "events").mkdir()
    warehouse = Warehouse.open(Settings(data_dir=folder / "store"))
    with warehouse.cursor() as cursor:
        for number in range(FILES):
            rows = f'(FROM "events_{PROJECT_ID}" WHERE seq % {FILES} = {number})'
            cursor.execute(f"COPY {rows} TO '{folder / 'events' / f'{number}.parquet'}' (COMPRESSION zstd)")
    warehouse.close()


def _measure(worker: str, folder: Path) -> dict[str, Any]:
    # Not as the main module, which the workers of the pool would import before they are told their threads.
    program = "import sys; from benchmarks.warehouse.file_rollups import work; work(*sys.argv[1:])"
    ran = subprocess.run(
        [sys.executable, "-c", program, worker, str(folder)],
        check=True,
        stdout=subprocess.PIPE,
    )
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def work(worker: str, folder: str) -> None:
    """Count in this process and those that it starts, and print the figures."""
    started = time.perf_counter()
    totals, shuffled = WORKERS[worker](Path(folder))
    seconds = time.perf_counter() - started
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    found = {
        "totals": totals,
        "shuffled": shuffled,
        "seconds": seconds,
        "cpu": sum(one.ru_utime + one.ru_stime for one in both),
        "peak_mb": max(one.ru_maxrss for one in both) // 1000,
    }
    print(json.dumps(found))
