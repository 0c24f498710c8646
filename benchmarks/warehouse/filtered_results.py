"""Results over ten million visitors, from stored sums and with several filters, against a bare group-by."""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks.warehouse.many_events import DAYS, EXPERIMENTS, PROJECT, STARTED
from engine.analysis.results.report import Report
from engine.local_days import epoch_days, epoch_microseconds
from engine.measures.sums import MONEY
from pipeline.results.filters import SegmentFilters
from pipeline.results.results import Results
from pipeline.results.verdict_keeper import VerdictKeeper
from pipeline.rollup.counting_rules import (
    DAY_US,
    CountingRules,
    fingerprint,
)
from pipeline.rollup.due import Due
from pipeline.rollup.read_events import CountedVisitors
from pipeline.rollup.result_tables import ResultTables
from pipeline.rollup.run import Rollup
from pipeline.rollup.segment_values import as_categories, with_day_of_week
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.published import Published
from pipeline.store.warehouse.segment_dimensions import CUSTOM
from tests.counted_work import counted_warehouse

Column = npt.NDArray[Any]
EXPERIMENT = EXPERIMENTS[0]
ROUNDS = 15
ENDPOINTS = 3
CHUNK = 1_000_000
FIRST_DAY = epoch_days(STARTED.date())
VALUES = {
    "traffic_source": ["direct", "organic", "paid", "email", "social"],
    "device_type": ["desktop", "mobile", "tablet"],
    "os": ["Windows", "macOS", "iOS", "Android", "Linux"],
    "country": [f"C{number}" for number in range(30)],
    "region": [f"R{number}" for number in range(40)],
    "browser": ["Chrome", "Safari", "Firefox", "Edge"],
    "visitor_type": ["new", "returning"],
}
QUESTIONS: dict[str, dict[str, str]] = {
    "everyone": {},
    "one filter": {"country": "C7"},
    "two filters": {"device_type": "mobile", "country": "C7"},
    "two wide filters": {"device_type": "mobile", "visitor_type": "new"},
}
_BARE = """
SELECT variant, count(*),
  count(g0_at), sum(g0_cents), count(g1_at), sum(g1_cents), count(g2_at), sum(g2_cents)
FROM "visitors_{id}" WHERE {condition} GROUP BY variant ORDER BY variant
"""


def run(scale: float = 1.0) -> list[dict[str, Any]]:
    """Time each question, and the bare group-by that answers its totals; 10 million visitors at scale 1."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder))
        catalog, warehouse = Catalog.open(settings), Warehouse.open(settings)
        # Of a report, the look that is due and its verdict are recorded.
        account, *_ = catalog.accounts.create("Bench", "bench@example.com")
        catalog.projects.create(replace(PROJECT, account_id=account.id), actor="bench")
        catalog.experiments.create(PROJECT.id, lambda _: EXPERIMENT, actor="bench")
        rollup = Rollup(warehouse, catalog, settings, last_seq_of=lambda _: 0)
        _publish(warehouse, int(10_000_000 * scale))
        verdicts = VerdictKeeper(catalog.kept_verdicts)
        results = Results(warehouse, rollup, catalog, settings, verdicts)
        rows = [_compare(name, question, results, rollup, warehouse) for name, question in QUESTIONS.items()]
        rows.append(_first_report(results, rollup, warehouse))
        rollup.close()
        warehouse.close()
        catalog.close()
    return rows


def _compare(
    name: str, question: dict[str, str], results: Results, rollup: Rollup, warehouse: Warehouse
) -> dict[str, Any]:
    now = STARTED + timedelta(days=DAYS)
    filters = SegmentFilters(question)
    evidence = results.evidence(EXPERIMENT, PROJECT, filters, now=now)
    query = _bare_query(warehouse, question)

    def ask_barely() -> list[Any]:
        with warehouse.cursor() as cursor:
            return cursor.execute(query).fetchall()

    found = [
        (variant, visitors, *chain(*zip(conversions, cents, strict=True)))
        for variant, (visitors, conversions, cents) in enumerate(
            zip(
                evidence.visitors.tolist(),
                evidence.conversions.T.tolist(),
                evidence.daily.revenue_cents.sum(axis=0).T.tolist(),
                strict=True,
            )
        )
    ]
    if found != ask_barely():
        raise RuntimeError(f"{name}: {found} is not what the group-by says, {ask_barely()}")

    def ask() -> object:
        # As after an event: what was read before does not hold any more.
        with rollup.publications.replacing([EXPERIMENT.id]):
            pass
        return results.evidence(EXPERIMENT, PROJECT, filters, now=now)

    return _row(name, int(evidence.visitors.sum()), *_medians(ask, ask_barely))


def _row(name: str, visitors: int, ours: float, bare: float) -> dict[str, Any]:
    return {
        "question": name,
        "visitors": f"{visitors:,}",
        "ours": f"{ours * 1000:.1f} ms",
        "bare group-by": f"{bare * 1000:.1f} ms",
        "ratio": f"{ours / bare:.2f}",
    }


def _first_report(results: Results, rollup: Rollup, warehouse: Warehouse) -> dict[str, Any]:
    """Time the reports of three endpoints after an event, of which the first reads what is stored."""
    now, query = STARTED + timedelta(days=DAYS), _bare_query(warehouse, {})

    def ask() -> list[Report]:
        with rollup.publications.replacing([EXPERIMENT.id]):
            pass
        return [results.shared_report(EXPERIMENT, PROJECT, now=now) for _ in range(ENDPOINTS)]

    def ask_barely() -> object:
        with warehouse.cursor() as cursor:
            return cursor.execute(query).fetchall()

    visitors = sum(one.visitors for one in ask()[0].goals[0].variants)
    with counted_warehouse(warehouse) as work:
        ask()
    name = f"{ENDPOINTS} reports after an event, {work.rows_scanned:,} rows read"
    return _row(name, visitors, *_medians(ask, ask_barely))


def _medians(*calls: Callable[[], object]) -> list[float]:
    """Return the median processor seconds of each, in turns, so that other load affects all of them."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, taken in zip(calls, times, strict=True):
            started = time.process_time()
            call()
            taken.append(time.process_time() - started)
    return [statistics.median(taken) for taken in times]


def _bare_query(warehouse: Warehouse, question: dict[str, str]) -> str:
    conditions = ["variant < 2"]
    with warehouse.cursor() as cursor:
        for dimension, value in question.items():
            ((code,),) = cursor.execute(
                f'SELECT code FROM "segment_values_{EXPERIMENT.id}" WHERE dimension = ? AND value = ?',
                [dimension, value],
            ).fetchall()
            conditions.append(f"{dimension} = {code}")
    return _BARE.format(id=EXPERIMENT.id, condition=" AND ".join(conditions))


def _publish(warehouse: Warehouse, visitors: int) -> None:
    """Store that many visitors as the rollup does."""
    rules = CountingRules.of(PROJECT)
    with warehouse.transaction() as cursor:
        due = Due(experiment=EXPERIMENT, rules=rules, before=None)
        tables = ResultTables(cursor, [due], is_recount=True)
        tables.recount(_simulated(visitors))
        tables.publish(
            [
                Published(
                    experiment_id=EXPERIMENT.id,
                    fingerprint=fingerprint(EXPERIMENT, rules),
                    rules=rules.to_json(),
                    covered_seq=0,
                    as_of=epoch_microseconds(STARTED),
                    last_exposed_at=None,
                    variants=tuple(variant.id for variant in EXPERIMENT.variants),
                    goals=tuple(goal.id for goal in EXPERIMENT.goals),
                    dimensions=(),
                    is_final=False,
                )
            ]
        )
    warehouse.checkpoint()


def _simulated(visitors: int) -> Iterator[CountedVisitors]:
    """Simulate visitors: one in seven orders within ten days, one in five converts on the goal `thanks`."""
    rng = np.random.default_rng(7)
    for start in range(0, visitors, CHUNK):
        count = min(CHUNK, visitors - start)
        first_day = FIRST_DAY + rng.integers(0, DAYS, count)
        orders, thanks = rng.random(count) < 1 / 7, rng.random(count) < 1 / 5
        order_day = first_day + rng.integers(0, 10, count)
        cents = np.where(orders, rng.integers(500, 9500, count), 0)
        segments = {
            name: pl.Series(VALUES[name]).gather(rng.integers(0, len(VALUES[name]), count))
            if name in VALUES
            else pl.Series([None], dtype=pl.String).new_from_index(0, count)
            for name in (*DIMENSIONS, CUSTOM)
        }
        rows = pl.DataFrame(
            {
                "visitor_key": np.arange(start, start + count, dtype=np.uint64),
                "variant": rng.integers(0, 2, count).astype(np.uint8),
                "first_exposed_at": first_day * DAY_US,
                "first_day": first_day.astype(np.int32),
                "exposure_sender": np.ones(count, np.uint8),
                "address_key": rng.integers(0, count, count).astype(np.uint64),
                "money_senders": orders.astype(np.uint8),
                **segments,
                **_goal(0, orders, order_day, cents),
                **_goal(1, orders, order_day, cents),
                **_goal(2, thanks, first_day, np.zeros(count, np.int64)),
            }
        )
        own = pl.lit(0, pl.UInt16).alias("experiment")
        counted = with_day_of_week(as_categories(rows)).with_columns(own)
        yield CountedVisitors(counted, _orders(rows).with_columns(own), {})


def _goal(number: int, happened: Column, day: Column, cents: Column) -> dict[str, pl.Series]:
    days = pl.Series(day.astype(np.int32)).set(pl.Series(~happened), None)
    return {
        f"g{number}_at": days.cast(pl.Int64) * DAY_US,
        f"g{number}_day": days,
        f"g{number}_cents": pl.Series(cents),
    }


def _orders(rows: pl.DataFrame) -> pl.DataFrame:
    """Simulate orders: every fifth customer orders again a week later, for both goals that count orders."""
    again = rows.filter((pl.col("g0_cents") > 1000) & (pl.col("visitor_key") % 5 == 0))
    return pl.concat(
        again.select(
            "visitor_key",
            pl.lit(goal, pl.UInt8).alias("goal"),
            pl.lit(MONEY.name).alias("sum"),
            pl.col("g0_day").alias("from_day"),
            (pl.col("g0_day") + 7).alias("day"),
            pl.lit(None, pl.Int32).alias("bucket"),
            pl.lit(500, pl.Int64).alias("cents"),
        )
        for goal in (0, 1)
    )


if __name__ == "__main__":
    for row in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(row)
