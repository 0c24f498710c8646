"""Equality of sums by SQL and by the service: random shops, every cell and product, each whole number."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import psycopg
import pytest

from pipeline.warehouse.statement_sums import read_sums
from tests.examples import trials
from tests.pipeline.warehouse.counted_alike import (
    answered_cells,
    answered_products,
    rolled_up,
    statement,
    stored,
)
from tests.pipeline.warehouse.random_shop import UNTIL, Shop, a_shop
from tests.pipeline.working_store import WorkingStore, a_working_store

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


@pytest.mark.many(seconds=400)
def test_duckdb_and_postgresql_count_what_the_service_counts(
    store: WorkingStore, new_database: Callable[[], str]
) -> None:
    url = new_database()
    for seed in range(trials(4, 60)):
        shop = a_shop(seed)
        project, experiments = rolled_up(store, shop, seed)
        with on_duckdb(shop) as duck, on_postgresql(shop, url) as postgresql:
            assert len(experiments) > 1
            for experiment in experiments:
                expected = stored(store, experiment)
                assert len(expected[0]) > 100
                for engine, run in {"duckdb": duck, "postgresql": postgresql}.items():
                    counted = statement(project, experiment, engine)
                    answer = read_sums(counted, experiment, run(counted.sql()))
                    assert (answered_cells(answer), answered_products(answer)) == expected, (engine, seed)
