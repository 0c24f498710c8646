from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipeline.rollup.aggregates import SCHEMA
from pipeline.settings import Settings
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.connection import Warehouse


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    opened = Warehouse.open(Settings(data_dir=tmp_path))
    yield opened
    opened.close()


def cells(*rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


EVERYONE = ("", "", 0, None, 20_000, 7, 0, 0, 0, 0, 0, 0, 0)
GERMANS = ("country", "DE", 0, None, 20_000, 3, 0, 0, 0, 0, 0, 0, 0)


def test_powers_beyond_64_bits_come_back_exactly(warehouse: Warehouse) -> None:
    powers = (10**30 + 1, 10**37 + 2, -(10**37) - 3)
    with warehouse.transaction() as cursor:
        aggregates.replace(cursor, "exp_1", cells(("", "", 0, 0, 20_000, 0, 1, 10**12, 1, 10**15, *powers)))
        found = [
            aggregates.read_value(cursor, "exp_1", "", ""),
            aggregates.read_totals(cursor, "exp_1"),
            aggregates.read_all(cursor, "exp_1"),
        ]
    for cell in found:
        assert cell.select("^cohort_cents_.*$").rows() == [powers]


def test_value_is_read_alone(warehouse: Warehouse) -> None:
    with warehouse.transaction() as cursor:
        aggregates.replace(cursor, "exp_1", cells(EVERYONE, GERMANS))
        assert aggregates.read_value(cursor, "exp_1", "country", "DE")["visitors"].to_list() == [3]
        assert aggregates.read_value(cursor, "exp_1", "country", "FR").is_empty()
        assert aggregates.read_values(cursor, "exp_1", variants=2) == [("country", "DE")]


def test_replacing_leaves_nothing_of_what_was_there(warehouse: Warehouse) -> None:
    with warehouse.transaction() as cursor:
        aggregates.replace(cursor, "exp_1", cells(EVERYONE, GERMANS))
        aggregates.replace(cursor, "exp_1", cells(EVERYONE))
        assert aggregates.read_all(cursor, "exp_1").rows() == [EVERYONE]
