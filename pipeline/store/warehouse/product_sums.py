"""Sums of products of visitors' values, of results from outside, which have no rows of visitors."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from pipeline.store.warehouse.arrow_streams import FrameStream
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.cubes import CUBE_BASE
from pipeline.store.warehouse.segment_dimensions import equals
from pipeline.store.warehouse.value_sums import PRODUCTS, THIRDS, SummedGoal, ValueSums
from pipeline.store.warehouse.visitors import result_table

CAP: Final = "cap"
"""The product that is no sum: the cap of a goal's values, in the row of all visitors."""
_COLUMNS: Final = """
    dimension VARCHAR, value VARCHAR, variant UTINYINT, goal UTINYINT, day INTEGER, product VARCHAR,
    high DECIMAL(38, 0), low DECIMAL(38, 0)
"""


def replace(cursor: Cursor, experiment_id: str, products: pl.DataFrame) -> None:
    """Replace the products of an experiment, whose sums are `high` · CUBE_BASE + `low`."""
    table = result_table("products", experiment_id)
    cursor.execute(f"CREATE OR REPLACE TABLE {table} ({_COLUMNS})")
    if products.height:
        added = FrameStream(products.cast({pl.Int128: pl.Decimal(38, 0)}))  # noqa: F841
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM added")


def read_products(  # noqa: PLR0913 # whose products, and of which visitors
    cursor: Cursor,
    experiment_id: str,
    goals: Sequence[SummedGoal],
    *,
    dimension: str,
    value: str,
    visitors: Mapping[int, int],
    last_day: int | None = None,
) -> list[ValueSums]:
    """Return what `read_value_sums` finds in rows of visitors, a row per goal and variant with some.

    `visitors` are their numbers by variant: those with the value of one dimension, first exposed up to
    `last_day`.
    """
    table = result_table("products", experiment_id)
    until = "true" if last_day is None else f"(day IS NULL OR day <= {last_day:d})"
    query = f"""
        SELECT goal, variant, product, sum(high)::HUGEINT, sum(low)::HUGEINT FROM {table}
        WHERE product <> '{CAP}' AND dimension = ? AND {equals(dimension, "value")} AND {until} GROUP BY ALL
    """
    found: dict[tuple[int, int], dict[str, int]] = {}
    for goal, variant, product, high, low in cursor.execute(query, [dimension, value]).fetchall():
        found.setdefault((goal, variant), {})[product] = high * CUBE_BASE + low
    caps = dict(cursor.execute(f"SELECT goal, low::BIGINT FROM {table} WHERE product = '{CAP}'").fetchall())
    known = {
        goal: {product for (place, _), sums in found.items() if place == goal for product in sums}
        for goal, _ in found
    }
    return [
        _row(goal.place, variant, number, found.get((goal.place, variant), {}), caps, known[goal.place])
        for goal in goals
        if goal.place in known
        for variant, number in sorted(visitors.items())
        if number
    ]


def _row(  # noqa: PLR0913, PLR0917 # the row of one goal and variant, and what is known of the goal
    goal: int,
    variant: int,
    n: int,
    sums: Mapping[str, int],
    caps: Mapping[int, int],
    known: set[str],
) -> ValueSums:
    plain = {name: sums.get(name, 0) for name in PRODUCTS if name not in THIRDS}
    return ValueSums(
        goal=goal,
        variant=variant,
        n=n,
        cap=caps.get(goal),
        has_orders="d" in known,
        has_past="z" in known,
        thirds={name: sums.get(name, 0) for name in THIRDS},
        **plain,
    )
