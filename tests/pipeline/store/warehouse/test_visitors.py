from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipeline.settings import Settings
from pipeline.store.warehouse import stored_visitors, visitors
from pipeline.store.warehouse.connection import Cursor, Warehouse


@pytest.fixture
def cursor(tmp_path: Path) -> Iterator[Cursor]:
    warehouse = Warehouse.open(Settings(data_dir=tmp_path))
    with warehouse.transaction() as opened:
        visitors.recreate(opened, "exp_1", goals=1)
        yield opened
    warehouse.close()


def rows(*keys: int) -> pl.DataFrame:
    return pl.DataFrame(
        {"visitor_key": pl.Series(keys, dtype=pl.UInt64)},
    ).with_columns(variant=0, first_exposed_at=5, first_day=0, device_type=1, g0_at=None, g0_cents=0)


def orders(*keys: int) -> pl.DataFrame:
    keyed = pl.DataFrame({"visitor_key": pl.Series(keys, dtype=pl.UInt64)})
    return keyed.with_columns(goal=0, from_day=1, day=2, cents=300)


def test_visitors_are_read_from_several_experiments_with_their_orders(cursor: Cursor) -> None:
    visitors.recreate(cursor, "exp_2", goals=2)
    visitors.add(cursor, "exp_1", rows(1, 2, 2**64 - 1), orders(1, 2))
    visitors.add(cursor, "exp_2", rows(2, 3).with_columns(g1_cents=7), orders())

    keys = pl.Series([2, 2**64 - 1], dtype=pl.UInt64)
    found, their_orders = stored_visitors.read_of(cursor, ["exp_1", "exp_2"], keys)

    columns = ("experiment", "visitor_key", "g1_cents")
    assert found.select(columns).sort(columns).rows() == [(0, 2, None), (0, 2**64 - 1, None), (1, 2, 7)]
    assert their_orders.select("experiment", "visitor_key").rows() == [(0, 2)]


@pytest.mark.parametrize("kind", ["visitors", "orders"])
def test_rows_of_removed_visitors_are_gone(cursor: Cursor, kind: str) -> None:
    visitors.add(cursor, "exp_1", rows(1, 2, 2**64 - 1), orders(1, 2))

    visitors.remove(cursor, kind, "exp_1", pl.Series([2, 2**64 - 1], dtype=pl.UInt64))

    assert cursor.table(f"{kind}_exp_1").select("visitor_key").fetchall() == [(1,)]


def test_rows_are_read_from_more_experiments_than_one_statement_takes(
    cursor: Cursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"exp_{number}" for number in range(1, 6)]
    for number, experiment_id in enumerate(ids):
        visitors.recreate(cursor, experiment_id, goals=1)
        visitors.add(cursor, experiment_id, rows(number), orders(number))
    monkeypatch.setattr(stored_visitors, "TABLES_AT_ONCE", 2)

    found = stored_visitors.read_of(cursor, ids, pl.Series([0, 2, 3, 4], dtype=pl.UInt64))

    keys = [sorted(part.select("experiment", "visitor_key").rows()) for part in found]
    assert keys == [[(0, 0), (2, 2), (3, 3), (4, 4)]] * 2


def test_digest_tells_visitors_and_orders_apart_but_not_their_order(cursor: Cursor) -> None:
    digests = []
    for first, second, money in ((1, 2, 3), (2, 1, 3), (1, 4, 3), (1, 2, 1)):
        visitors.recreate(cursor, "exp_1", goals=1)
        visitors.add(cursor, "exp_1", rows(first, second), orders(money))
        digests.append(visitors.digest(cursor, "exp_1"))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("key", ["plan", "a/b", "a~b", 'say "hi"', "0", "sp ace", "\u00fc.$['x']"])
def test_custom_dimension_of_any_name_is_found(cursor: Cursor, key: str) -> None:
    text = (
        pl.Series([key])
        .to_frame("key")
        .select(pl.struct(pl.lit("gold").alias(key)).struct.json_encode())
        .item()
    )
    values = pl.DataFrame({"dimension": ["custom"], "code": [7], "value": [text]})
    visitors.add_values(cursor, "exp_1", values)
    condition = visitors.value_condition(cursor, "exp_1", {f"custom:{key}": "gold"})
    assert condition == "custom IN (7)"


@pytest.mark.parametrize("unsafe", ["", 'x" (i INT); --', "a b", "\u00e9", "x" * 65])
def test_only_ids_become_table_names(unsafe: str) -> None:
    with pytest.raises(ValueError, match="no experiment id"):
        visitors.result_table("visitors", unsafe)
