"""How visitors are kept: a table of them for each experiment, one of their orders, one of segment values."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered

_SAFE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
# What an experiment's results are kept in, by the part of the table's name that says so.
TABLES: Final = ("visitors", "orders", "segment_values", "aggregates")
# Every segment that a visitor has a column for, as the code of its value.
DIMENSIONS: Final = (
    "traffic_source",
    "device_type",
    "visitor_type",
    "os",
    "day_of_week",
    "country",
    "region",
    "browser",
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "visitor_identity",
)
# The customer's own dimensions: the code of a JSON object.
CUSTOM: Final = "custom"
CUSTOM_PREFIX: Final = "custom:"
# Money on other days than that of the visitor's first conversion; all the rest is on that day.
_ORDERS: Final = {
    "visitor_key": "UBIGINT",
    "goal": "UTINYINT",
    "from_day": "INTEGER",
    "day": "INTEGER",
    "cents": "BIGINT",
}
_ORDER_COLUMNS: Final = ", ".join(f"{name} {kind}" for name, kind in _ORDERS.items())
_VALUE_COLUMNS: Final = "dimension VARCHAR, code UINTEGER, value VARCHAR"


def result_table(kind: str, experiment_id: str) -> str:
    """The quoted name of one of an experiment's TABLES; ValueError for what cannot be an experiment id."""
    if not _SAFE_ID.match(experiment_id):
        raise ValueError(f"{experiment_id!r} is no experiment id; ids are letters, digits, '-' and '_'")
    return f'"{kind}_{experiment_id}"'


def recreate(cursor: Cursor, experiment_id: str, *, goals: int, told: Sequence[str] = ()) -> None:
    """Make the tables anew and empty, for that many goals; `told` names further columns of whole numbers."""
    columns = ", ".join(
        [
            "visitor_key UBIGINT NOT NULL",
            "variant UTINYINT NOT NULL",
            "first_exposed_at BIGINT NOT NULL",
            "first_day INTEGER NOT NULL",
            *(f"{name} UINTEGER" for name in (*DIMENSIONS, CUSTOM)),
            *(
                f"g{goal}_at BIGINT, g{goal}_day INTEGER, g{goal}_cents BIGINT NOT NULL"
                for goal in range(goals)
            ),
            *(f"{name} BIGINT NOT NULL" for name in told),
        ]
    )
    tables = {"visitors": columns, "orders": _ORDER_COLUMNS, "segment_values": _VALUE_COLUMNS}
    for kind, definition in tables.items():
        cursor.execute(f"CREATE OR REPLACE TABLE {result_table(kind, experiment_id)} ({definition})")


def add(cursor: Cursor, experiment_id: str, visitors: pl.DataFrame, orders: pl.DataFrame) -> None:
    """Add rows of visitors who have none."""
    for kind, rows in (("visitors", visitors), ("orders", orders)):
        with registered(cursor, "added_rows", rows):
            cursor.execute(
                f"INSERT INTO {result_table(kind, experiment_id)} BY NAME SELECT * FROM added_rows"
            )


def take_out(
    cursor: Cursor, experiment_id: str, visitor_keys: pl.Series
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Remove the rows of those visitors, and return them: their own, and their orders."""
    taken = []
    with registered(cursor, "taken_keys", visitor_keys.alias("visitor_key").to_frame()):
        for kind in ("visitors", "orders"):
            table = result_table(kind, experiment_id)
            taken.append(
                fetch_frame(cursor, f"SELECT t.* FROM {table} t SEMI JOIN taken_keys USING (visitor_key)")
            )
            cursor.execute(f"DELETE FROM {table} WHERE visitor_key IN (SELECT visitor_key FROM taken_keys)")
    visitors, orders = taken
    return visitors, orders


def within_segment(cursor: Cursor, experiment_id: str, segment: Mapping[str, str]) -> str:
    """The condition that a row of the experiment's visitors has every value of `segment`."""
    codes = {name: _codes(cursor, experiment_id, name, value) for name, value in segment.items()}
    conditions = [
        f"{CUSTOM if name.startswith(CUSTOM_PREFIX) else name} IN ({', '.join(map(str, found)) or 'NULL'})"
        for name, found in codes.items()
    ]
    return " AND ".join(conditions) or "true"


def columns_of(cursor: Cursor, experiment_id: str) -> list[str]:
    """The columns of the experiment's visitors, in order."""
    rows = cursor.execute(f"DESCRIBE {result_table('visitors', experiment_id)}").fetchall()
    return [name for name, *_ in rows]


def goals_of(cursor: Cursor, experiment_id: str) -> int:
    """How many goals the experiment's visitors were counted for."""
    return sum(name.startswith("g") and name.endswith("_at") for name in columns_of(cursor, experiment_id))


def _codes(cursor: Cursor, experiment_id: str, dimension: str, value: str) -> list[int]:
    """The codes under which visitors have that value of a dimension; none if nobody has it."""
    table = result_table("segment_values", experiment_id)
    if not dimension.startswith(CUSTOM_PREFIX):
        query, parameters = "dimension = ? AND value = ?", [dimension, value]
    else:
        key = dimension.removeprefix(CUSTOM_PREFIX)
        # A JSON pointer (RFC 6901) names any key; a path would need quoting of its own.
        pointer = "/" + key.replace("~", "~0").replace("/", "~1")
        query, parameters = "dimension = ? AND json_extract_string(value, ?) = ?", [CUSTOM, pointer, value]
    return [
        code for (code,) in cursor.execute(f"SELECT code FROM {table} WHERE {query}", parameters).fetchall()
    ]


def read_values(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """The `value` behind each `code` of each `dimension`."""
    return fetch_frame(cursor, f"SELECT * FROM {result_table('segment_values', experiment_id)}")


def write_values(cursor: Cursor, experiment_id: str, values: pl.DataFrame) -> None:
    """Replace them."""
    table = result_table("segment_values", experiment_id)
    cursor.execute(f"DELETE FROM {table}")
    with registered(cursor, "written_values", values):
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM written_values")


def digest(cursor: Cursor, experiment_id: str) -> tuple[int, ...]:
    """Numbers that differ when a visitor or an order does; segments aside, whose codes are arbitrary."""
    visitors, orders = (result_table(kind, experiment_id) for kind in ("visitors", "orders"))
    columns = columns_of(cursor, experiment_id)
    told = ", ".join(name for name in columns if name not in {*DIMENSIONS, CUSTOM})
    rows = cursor.execute(
        f"""
        SELECT count(*), coalesce(bit_xor(hash({told})), 0) FROM {visitors}
        UNION ALL SELECT count(*), coalesce(bit_xor(hash({", ".join(_ORDERS)})), 0) FROM {orders}
        """
    ).fetchall()
    return tuple(number for row in rows for number in row)
