"""Rollup of ten million events, against the leanest SQL and Polars with the same totals.

Each runs in a process of its own on a copy of the same warehouse. The peers named `totals` come to the
totals of each variant only; those named `every sum` also to the rows of visitors and to the sums by day
and segment that the rollup publishes. The bare limit is `Polars, every sum`: one pass over a Parquet
file, which stores the rows of visitors in the warehouse, and nothing else.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.warehouse.lean_rollups import (
    EVERY_SUM_SQL,
    TOTALS_FROM_ROWS_SQL,
    TOTALS_SQL,
    polars_totals,
    with_user_ids,
)
from benchmarks.warehouse.lean_sums import polars_every_sum
from benchmarks.warehouse.many_events import EXPERIMENTS, PROJECT, experiments_of, fill
from engine.design.experiment import Experiment
from engine.measures.sums import MONEY
from pipeline.clock import utc_now
from pipeline.rollup.count_and_publish import RollupScope, count_and_publish
from pipeline.rollup.counting_rules import CountingRules
from pipeline.rollup.due import Due
from pipeline.settings import Settings
from pipeline.store.warehouse import aggregates, published
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.event_ranges import newest_seq

# Of each experiment and variant: visitors, those who ordered, those who thanked, cents, squares of cents.
Totals = list[list[Any]]
EVENTS_FILE = "events.parquet"


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Time each peer on 10 million events at scale 1, and check that all give the same totals."""
    return compare([ROLLUP, *WITHOUT_USER_IDS], scale)


def compare(names: Iterable[str], scale: float, *, identified: bool = False) -> list[dict[str, Any]]:
    """Time workers on 10 million events at scale 1, with user ids if `identified`."""
    with tempfile.TemporaryDirectory() as folder:
        origin = Path(folder) / "origin"
        fill(origin, int(10_000_000 * scale), identified=identified)
        _export(origin)
        measured = {name: measure(name, origin) for name in names}
    ours = measured[ROLLUP]
    for name, peer in measured.items():
        if peer["totals"] != ours["totals"]:
            raise RuntimeError(f"{name} comes to {peer['totals']}, the rollup to {ours['totals']}")
    return [
        {
            "": name,
            "seconds": f"{one['seconds']:.1f}",
            "CPU seconds": f"{one['cpu']:.1f}",
            "peak memory": f"{one['peak_mb']:,} MB",
            "rollup / this, time": f"{ours['seconds'] / one['seconds']:.2f}",
            "rollup / this, CPU": f"{ours['cpu'] / one['cpu']:.2f}",
            "rollup / this, memory": f"{ours['peak_mb'] / one['peak_mb']:.2f}",
        }
        for name, one in measured.items()
    ]


def rollup(warehouse: Warehouse, experiments: Sequence[Experiment] = EXPERIMENTS) -> Totals:
    """Run the rollup, by the function that the service uses."""
    with warehouse.cursor() as cursor:
        published.create_tables(cursor)
    rules = CountingRules.of(PROJECT)
    due = [Due(experiment=one, rules=rules, before=None) for one in experiments]
    newest = newest_seq(warehouse, PROJECT.id) or 0
    scope = RollupScope(
        project_id=PROJECT.id, newest_seq=newest, now=utc_now(), at_once=Settings().rollup_bucket_events
    )
    count_and_publish(warehouse, due, scope)
    with warehouse.cursor() as cursor:
        return [row for one in experiments for row in _published_totals(cursor, one.id)]


def _published_totals(cursor: Cursor, experiment_id: str) -> Totals:
    cells = aggregates.read_value(cursor, experiment_id, aggregates.EVERYONE, aggregates.EVERYONE)
    order, money, thanks = ((pl.col("goal") == goal) & (pl.col("sum") == MONEY.name) for goal in range(3))
    sums = (
        cells.filter(pl.col("variant") < len(EXPERIMENTS[1].variants))
        .group_by("variant")
        .agg(
            pl.col("visitors").sum(),
            pl.col("conversions").filter(order).sum().alias("orders"),
            pl.col("conversions").filter(thanks).sum().alias("thanks"),
            pl.col("cohort_total").filter(money).sum(),
            pl.col("cohort_squared").filter(money).sum(),
        )
        .sort("variant")
    )
    return [[experiment_id, *row[1:]] for row in sums.rows()]


def _in_sql(*statements: str) -> Callable[[Warehouse], Totals]:
    def work(warehouse: Warehouse) -> Totals:
        with warehouse.cursor() as cursor:
            for statement in statements[:-1]:
                cursor.execute(statement).fetchall()
            return [list(row) for row in cursor.execute(statements[-1]).fetchall()]

    return work


def _every_sum_in_polars(warehouse: Warehouse) -> Totals:
    return polars_every_sum(warehouse.path.parent / EVENTS_FILE, warehouse)


def _in_polars(warehouse: Warehouse, *, identified: bool = False) -> Totals:
    return polars_totals(warehouse.path.parent / EVENTS_FILE, identified=identified)


ROLLUP = "rollup"
BARE = "Polars, every sum"
WITHOUT_USER_IDS: dict[str, Callable[[Warehouse], Totals]] = {
    "DuckDB SQL, every sum": _in_sql(*EVERY_SUM_SQL, TOTALS_FROM_ROWS_SQL),
    BARE: _every_sum_in_polars,
    "DuckDB SQL, totals": _in_sql(TOTALS_SQL),
    "Polars, totals": _in_polars,
}
WITH_USER_IDS: dict[str, Callable[[Warehouse], Totals]] = {
    "DuckDB SQL, every sum, joined": _in_sql(*with_user_ids(*EVERY_SUM_SQL), TOTALS_FROM_ROWS_SQL),
    "DuckDB SQL, totals, joined": _in_sql(*with_user_ids(TOTALS_SQL)),
    "Polars, totals, joined": partial(_in_polars, identified=True),
}
MANY = {f"rollup of {count}": partial(rollup, experiments=experiments_of(count)) for count in (1, 10, 50)}
WORKERS = {ROLLUP: rollup} | WITHOUT_USER_IDS | WITH_USER_IDS | MANY


def _export(origin: Path) -> None:
    """Export the events as Parquet, for the peer without DuckDB."""
    warehouse = Warehouse.open(Settings(data_dir=origin))
    with warehouse.cursor() as cursor:
        path = origin / EVENTS_FILE
        cursor.execute(f"COPY \"events_{PROJECT.id}\" TO '{path}' (FORMAT parquet)")
    warehouse.close()


def measure(name: str, origin: Path) -> dict[str, Any]:
    """Run a worker in a process of its own on a copy of the warehouse; return its figures."""
    copied = origin.parent / "copy"
    shutil.copytree(origin, copied)
    command = [sys.executable, __file__, "--worker", name, str(copied)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    shutil.rmtree(copied)
    measured: dict[str, Any] = json.loads(output)
    return measured


def _peak_mb() -> int:
    """Return the peak memory of this process; `getrusage` would include the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def _work(name: str, folder: Path) -> dict[str, Any]:
    """Run one peer in this worker process, and print its figures."""
    warehouse = Warehouse.open(Settings(data_dir=folder))
    started, cpu = time.perf_counter(), time.process_time()
    totals = WORKERS[name](warehouse)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    warehouse.close()
    return {
        "seconds": seconds,
        "cpu": cpu,
        "peak_mb": _peak_mb(),
        "totals": [[row[0], *map(int, row[1:])] for row in totals],
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(_work(sys.argv[2], Path(sys.argv[3]))))
    else:
        for row in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
            print(row)
