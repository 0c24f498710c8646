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
    schema = {name: kind for name, kind in SCHEMA.items() if name != "experiment"}
    return pl.DataFrame(rows, schema=schema, orient="row")


EVERYONE = ("", "", 0, None, None, 20_000, None, 7, 0, 0, 0, 0, 0, 0, 0)
GERMANS = ("country", "DE", 0, None, None, 20_000, None, 3, 0, 0, 0, 0, 0, 0, 0)


def test_powers_beyond_64_bits_come_back_exactly(warehouse: Warehouse) -> None:
    powers = (10**30 + 1, 10**37 + 2, -(10**37) - 3)
    with warehouse.transaction() as cursor:
        aggregates.replace(
            cursor, "exp_1", cells(("", "", 0, 0, "money", 20_000, None, 0, 1, 10**12, 1, 10**15, *powers))
        )
        found = [
            aggregates.read_value(cursor, "exp_1", "", ""),
            aggregates.read_totals(cursor, "exp_1"),
            aggregates.read_all(cursor, "exp_1"),
        ]
    for cell in found:
        assert cell.select("^cohort_[sc].*u.*$").rows() == [powers]


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


def test_what_is_added_counts_with_what_was_there(warehouse: Warehouse) -> None:
    fewer = ("country", "DE", 0, None, None, 20_000, None, -3, 0, 0, 0, 0, 0, 0, 0)
    more = ("country", "FR", 0, None, None, 20_000, None, 2, 0, 0, 0, 0, 0, 0, 0)
    with warehouse.transaction() as cursor:
        aggregates.replace(cursor, "exp_1", cells(EVERYONE, GERMANS))
        aggregates.add(cursor, "exp_1", cells(EVERYONE, fewer, more))
        assert aggregates.read_value(cursor, "exp_1", "", "")["visitors"].to_list() == [14]
        assert aggregates.read_value(cursor, "exp_1", "country", "DE").is_empty()
        assert aggregates.read_values(cursor, "exp_1", variants=2) == [("country", "FR")]
        assert aggregates.read_all(cursor, "exp_1").height == 2


def test_dimensions_are_removed_alone(warehouse: Warehouse) -> None:
    with warehouse.transaction() as cursor:
        aggregates.replace(cursor, "exp_1", cells(EVERYONE, GERMANS))
        aggregates.remove_dimensions(cursor, "exp_1", ["country", "region"])
        assert aggregates.read_all(cursor, "exp_1").rows() == [EVERYONE]


def test_sums_have_buckets_where_a_value_has_one(warehouse: Warehouse) -> None:
    values = ("", "", 0, 0, "values", 20_000, 7, 0, 0, 0, 1, 1, 1, 0, 0)
    with warehouse.transaction() as cursor:
        aggregates.replace(cursor, "exp_1", cells(EVERYONE, GERMANS))
        assert not aggregates.has_buckets(cursor, "exp_1")
        aggregates.add(cursor, "exp_1", cells(values))
        assert aggregates.has_buckets(cursor, "exp_1")
