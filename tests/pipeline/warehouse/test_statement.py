"""Equality of sums by SQL and by the service: random shops, every cell and product, each whole number."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import psycopg
import pytest

from engine.local_days import epoch_microseconds
from pipeline.rollup.counting_rules import CountingRules
from pipeline.verification.sample_shop import TABLES, UNTIL, Shop, a_shop
from pipeline.verification.verify_dialect import as_numbers, count_here, sums_here
from pipeline.warehouse.dialects.dialect_table import DIALECTS
from pipeline.warehouse.statement import statement_of
from pipeline.warehouse.statement_sums import read_sums
from tests.examples import trials
from tests.pipeline.working_store import WorkingStore, a_working_store

SCANS = {"duckdb": "ARROW_SCAN", "postgresql": "Seq Scan on "}
Run = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkingStore]:
    with a_working_store(tmp_path_factory.mktemp("store"), clock=lambda: UNTIL) as opened:
        yield opened


@contextmanager
def on_duckdb(shop: Shop) -> Iterator[Run]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, rows in shop.tables.items():
            connection.register(name, rows.to_arrow())
        yield lambda sql: connection.execute(sql).fetchall()


@contextmanager
def on_postgresql(shop: Shop, url: str) -> Iterator[Run]:
    kinds = {"at": "timestamp", "amount": "float8", "value": "float8", "refund": "boolean"}
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for name, rows in shop.tables.items():
            columns = ", ".join(f'"{column}" {kinds.get(column, "text")}' for column in rows.columns)
            cursor.execute(f'CREATE TEMP TABLE "{name}" ({columns}) ON COMMIT DROP'.encode())
            with cursor.copy(f'COPY "{name}" FROM STDIN'.encode()) as copy:
                for row in rows.iter_rows():
                    copy.write_row(row)
        yield lambda sql: cursor.execute(sql.encode()).fetchall()


@pytest.mark.many(seconds=80)
def test_duckdb_and_postgresql_count_what_the_service_counts(
    store: WorkingStore, new_database: Callable[[], str]
) -> None:
    url = new_database()
    for seed in range(trials(1, 12)):
        # Values of 14 visitors are about half of them.
        shop, least = a_shop(seed), 14 if seed % 2 else 5
        rates = {"EUR": 1.1} if seed % 2 else {}
        project, experiments = count_here(store, shop, exchange_rates=rates)
        rules = CountingRules.of(project)
        with on_duckdb(shop) as duck, on_postgresql(shop, url) as postgresql:
            assert len(experiments) > 1
            expected = [sums_here(store, experiment, least) for experiment in experiments]
            assert all(len(one) > 100 for one in expected)
            for engine, run in {"duckdb": duck, "postgresql": postgresql}.items():
                # All of them in one statement.
                counted = statement_of(
                    TABLES,
                    [(experiment, rules) for experiment in experiments],
                    DIALECTS[engine],
                    now_us=epoch_microseconds(UNTIL),
                    least_visitors=least,
                )
                plan = " ".join(str(row) for row in run(f"EXPLAIN {counted.sql()}"))
                # Each table is read once.
                assert plan.count(SCANS[engine]) == len(shop.tables), engine
                found = read_sums(counted, run(counted.sql()))
                for one, numbers in zip(found, expected, strict=True):
                    assert as_numbers(one.cells, one.products) == numbers, (engine, seed)
