"""Result tables of earlier versions, brought into the form of this one.

Goals and their sums had one number: that of the goal, and 64 more for amounts of a ratio added to its
denominator, 128 more for amounts, 192 more for denominators. The first stores had no cubes.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from engine.measures.sums import AMOUNT, DENOMINATOR, MONEY, PLUS
from pipeline.store.warehouse import aggregates
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.visitors import result_table

_STEP: Final = 64
_NAMES: Final = (MONEY.name, PLUS.name, AMOUNT.name, DENOMINATOR.name)
_FORMER: Final[Mapping[str, str]] = {
    "total": "cents",
    "cohort_total": "cohort_cents",
    "cohort_squared": "cohort_cents_squared",
    "cohort_cubed_high": "cohort_cents_cubed_high",
    "cohort_cubed_low": "cohort_cents_cubed_low",
}
# Sums of several columns have no day, and conversions are told once.
_OF_MONEY: Final = ("conversions", "cohort_conversions")


def find_earlier(cursor: Cursor, experiment_ids: Sequence[str]) -> list[str]:
    """Find the experiments whose sums an earlier version stored."""
    earlier = _tables_without(cursor, "sum", ["aggregates"])
    return [one for one in experiment_ids if result_table("aggregates", one).strip('"') in earlier]


def add_buckets(cursor: Cursor) -> None:
    """Add the bucket to sums and orders that were stored without it: none has values of quantiles."""
    for name in _tables_without(cursor, "bucket", ["aggregates", "orders"]):
        cursor.execute(f'ALTER TABLE "{name}" ADD COLUMN bucket INTEGER')


def _tables_without(cursor: Cursor, column: str, kinds: Sequence[str]) -> list[str]:
    """List the result tables of some kinds that lack a column."""
    rows = cursor.execute(
        """
        SELECT table_name FROM duckdb_columns()
        WHERE database_name = current_database() AND split_part(table_name, '_', 1) IN (SELECT unnest($kinds))
        GROUP BY table_name HAVING NOT bool_or(column_name = $column)
        """,
        {"kinds": kinds, "column": column},
    ).fetchall()
    return [name for (name,) in rows]


def name_sums(cursor: Cursor, experiment_id: str) -> bool:
    """Give the sums and the orders of an experiment their names; tell whether the sums have cubes."""
    table = result_table("aggregates", experiment_id)
    stored = {name for name, *_ in cursor.execute(f"DESCRIBE {table}").fetchall()}
    columns = ", ".join(
        f"{_former(name, stored)}::{kind} AS {name}" for name, kind in aggregates.SUMS.items()
    )
    cursor.execute(
        f"""
        CREATE OR REPLACE TABLE {table} AS
        SELECT dimension, value, variant, {_GOAL}, {_SUM}, day, bucket, {columns} FROM {table}
        """
    )
    orders = result_table("orders", experiment_id)
    cursor.execute(
        f"""
        CREATE OR REPLACE TABLE {orders} AS
        SELECT visitor_key, {_GOAL}, {_SUM}, from_day, day, bucket, cents FROM {orders}
        """
    )
    return _FORMER["cohort_cubed_low"] in stored


_GOAL: Final = f"(goal % {_STEP})::UTINYINT AS goal"
_SUM: Final = f"{list(_NAMES)}[goal // {_STEP} + 1] AS sum"


def _former(name: str, stored: set[str]) -> str:
    """Build the SQL of a sum from the columns of the earlier version."""
    former = _FORMER.get(name, name)
    if former not in stored:
        return "NULL"
    if name in _OF_MONEY:
        return f"CASE WHEN goal < {_STEP} THEN {former} ELSE 0 END"
    if name == "total":
        return f"CASE WHEN goal // {_STEP} = {_NAMES.index(PLUS.name)} THEN 0 ELSE {former} END"
    return former
