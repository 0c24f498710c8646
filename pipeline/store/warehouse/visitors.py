"""Tables of visitors, orders and segment values, one of each per experiment."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from engine.measures.sums import SUMS, Column
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.arrow_streams import FrameStream
from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.connections.cursors import table_exists
from pipeline.store.warehouse.segment_dimensions import CUSTOM, CUSTOM_PREFIX, equals, json_pointer

_SAFE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
# Columns of value codes.
_SEGMENTS: Final = (*DIMENSIONS, CUSTOM)
# Result tables of an experiment, by the prefix of their names.
TABLES: Final = ("visitors", "orders", "segment_values", "aggregates", "extremes", "products")
# Revenue and amounts on other days than that of the visitor's first conversion; all others are on that day.
# Numbers of values of quantiles have a bucket, and no day.
_ORDERS: Final = {
    "visitor_key": "UBIGINT",
    "goal": "UTINYINT",
    "sum": "VARCHAR",
    "from_day": "INTEGER",
    "day": "INTEGER",
    "bucket": "INTEGER",
    "cents": "BIGINT",
}
_POLARS_TYPES: Final = {
    "UBIGINT": pl.UInt64,
    "UTINYINT": pl.UInt8,
    "INTEGER": pl.Int32,
    "BIGINT": pl.Int64,
    "VARCHAR": pl.String,
}
_ORDER_COLUMNS: Final = ", ".join(f"{name} {kind}" for name, kind in _ORDERS.items())
# A statement holds blocks of each of its tables in memory; with hundreds they exceed its limit.
TABLES_AT_ONCE: Final = 25
# The column of the unit that a visitor belongs to, such as an account, where these are compared.
UNIT_KEY: Final = "unit_key"
# Higher numbers than any variant's mark visitors counted in no variant: of a unit, those who saw several.
_FIRST_MARK: Final = 128
_VALUE_COLUMNS: Final = "dimension VARCHAR, code UINTEGER, value VARCHAR"


def column_of(goal: int, column: Column) -> str:
    """Name a column of a goal, by its position, in visitor rows."""
    return f"g{goal}_{column}"


def summed_columns(goal: int, name: str) -> dict[str, int]:
    """Map the columns that a sum of a goal is made of to their signs, 1 or -1."""
    return {column_of(goal, column): sign for column, sign in SUMS[name].columns}


def summed_value(goal: int, name: str) -> str:
    """Build the SQL of what a sum of a goal adds up of a visitor."""
    terms = (f"{'-' if sign < 0 else '+'} {column}" for column, sign in summed_columns(goal, name).items())
    return f"({' '.join(terms)})"


def day_column(goal: int) -> str:
    """Name the column with the day of a goal's first conversion."""
    return f"g{goal}_day"


def result_table(kind: str, experiment_id: str) -> str:
    """Quote the name of one of an experiment's TABLES; ValueError for an invalid experiment id."""
    if not _SAFE_ID.match(experiment_id):
        raise ValueError(f"{experiment_id!r} is no experiment id; ids are letters, digits, '-' and '_'")
    return f'"{kind}_{experiment_id}"'


def recreate(
    cursor: Cursor,
    experiment_id: str,
    *,
    goals: int,
    extra_columns: Sequence[str] = (),
    has_units: bool = False,
) -> None:
    """Create the tables empty for that many goals; `extra_columns` name further integer columns.

    `has_units` where visitors belong to units that are compared.
    """
    columns = ", ".join(
        [
            "visitor_key UBIGINT NOT NULL",
            "variant UTINYINT NOT NULL",
            "first_exposed_at BIGINT NOT NULL",
            "first_day INTEGER NOT NULL",
            # The sender and address of the first exposure, and all senders of money: SENDER_BITS.
            "exposure_sender UTINYINT NOT NULL DEFAULT 0",
            "address_key UBIGINT",
            "money_senders UTINYINT NOT NULL DEFAULT 0",
            *(f"{name} UINTEGER" for name in _SEGMENTS),
            *(
                f"g{goal}_at BIGINT, g{goal}_day INTEGER, g{goal}_cents BIGINT NOT NULL"
                for goal in range(goals)
            ),
            *(f"{name} BIGINT NOT NULL" for name in extra_columns),
            *([f"{UNIT_KEY} UBIGINT"] if has_units else []),
        ]
    )
    tables = {"visitors": columns, "orders": _ORDER_COLUMNS, "segment_values": _VALUE_COLUMNS}
    for kind, definition in tables.items():
        cursor.execute(f"CREATE OR REPLACE TABLE {result_table(kind, experiment_id)} ({definition})")


def add(cursor: Cursor, experiment_id: str, visitors: pl.DataFrame, orders: pl.DataFrame) -> None:
    """Add rows of visitors without rows so far, and their orders."""
    for kind, rows in (("visitors", visitors), ("orders", orders)):
        _insert(cursor, kind, experiment_id, rows)


def _insert(cursor: Cursor, kind: str, experiment_id: str, rows: pl.DataFrame) -> None:
    if rows.height:
        added = FrameStream(rows)  # noqa: F841
        cursor.execute(f"INSERT INTO {result_table(kind, experiment_id)} BY NAME SELECT * FROM added")


def remove(cursor: Cursor, kind: str, experiment_id: str, visitor_keys: pl.Series) -> None:
    """Remove the rows of visitors from one of the TABLES with a row or several of each visitor."""
    removed = FrameStream(visitor_keys.alias("visitor_key").to_frame())  # noqa: F841
    table = result_table(kind, experiment_id)
    cursor.execute(f"DELETE FROM {table} WHERE visitor_key IN (SELECT visitor_key FROM removed)")


def has_rows(cursor: Cursor, experiment_id: str) -> bool:
    """Tell whether a visitor of the experiment was counted, in one variant or several."""
    return bool(cursor.execute(f"SELECT 1 FROM {result_table('visitors', experiment_id)} LIMIT 1").fetchall())


def count_rows_of(cursor: Cursor, experiment_id: str, visitor_keys: pl.Series) -> int:
    """Count the rows of visitors, or of units, with one of the keys, and those of their orders."""
    rows, orders = (result_table(kind, experiment_id) for kind in ("visitors", "orders"))
    columns = ("visitor_key", *([UNIT_KEY] if UNIT_KEY in read_columns(cursor, experiment_id) else ()))
    with registered(cursor, "sought", visitor_keys.alias("key").to_frame()):
        is_sought = " OR ".join(f"{name} IN (FROM sought)" for name in columns)
        query = f"""
            SELECT (SELECT count(*) FROM {rows} WHERE {is_sought})
              + (SELECT count(*) FROM {orders} WHERE visitor_key IN (FROM sought))
        """
        return int(cursor.execute(query).fetchall()[0][0])


def no_orders() -> pl.DataFrame:
    """Return rows of no orders."""
    return pl.DataFrame(schema={name: _POLARS_TYPES[kind] for name, kind in _ORDERS.items()})


def segment_condition(
    cursor: Cursor, experiment_id: str, segment: Mapping[str, str], *, has_units: bool
) -> str:
    """Build the SQL condition that a visitor row counts, and has every value of `segment`.

    Where units are compared, the visitors of a unit that was seen in several variants do not count.
    """
    condition = value_condition(cursor, experiment_id, segment)
    if not has_units:
        return condition
    return f"{condition} AND ({UNIT_KEY} IN (FROM {mixed_units(cursor, experiment_id)})) IS NOT TRUE"


def has_units(cursor: Cursor, experiment_id: str) -> bool:
    """Tell whether the experiment's visitors were counted with their units."""
    return UNIT_KEY in read_columns(cursor, experiment_id)


def mixed_units(cursor: Cursor, experiment_id: str) -> str:
    """Name the temporary table of the units (`unit_key`) that were seen in several variants.

    It is made once a cursor, whose one transaction reads the same rows throughout.
    """
    table = result_table("mixed_units", experiment_id)
    if not table_exists(cursor, table.strip('"')):
        cursor.execute(
            f"""
            CREATE TEMP TABLE {table} AS
            SELECT {UNIT_KEY} FROM {result_table("visitors", experiment_id)} WHERE {UNIT_KEY} IS NOT NULL
            GROUP BY {UNIT_KEY} HAVING min(variant) <> max(variant) OR max(variant) >= {_FIRST_MARK}
            """
        )
    return table


def value_condition(cursor: Cursor, experiment_id: str, segment: Mapping[str, str]) -> str:
    """Build the SQL condition that a visitor row has every value of `segment`."""
    codes = {name: _codes(cursor, experiment_id, name, value) for name, value in segment.items()}
    conditions = [
        f"{CUSTOM if name.startswith(CUSTOM_PREFIX) else name} IN ({', '.join(map(str, matching)) or 'NULL'})"
        for name, matching in codes.items()
    ]
    return " AND ".join(conditions) or "true"


def read_columns(cursor: Cursor, experiment_id: str) -> list[str]:
    """Return the columns of the experiment's visitors, in order."""
    return list(cursor.table(result_table("visitors", experiment_id)).columns)


def count_goals(cursor: Cursor, experiment_id: str) -> int:
    """Count the goals that the experiment's visitors were counted for."""
    return sum(name.startswith("g") and name.endswith("_at") for name in read_columns(cursor, experiment_id))


def has_ratios(cursor: Cursor, experiment_id: str) -> bool:
    """Tell whether the experiment's visitors were counted for a ratio."""
    return any(name.endswith("_denominator") for name in read_columns(cursor, experiment_id))


def _codes(cursor: Cursor, experiment_id: str, dimension: str, value: str) -> list[int]:
    """Find the codes of a value of a dimension; several for a custom one, none for an unknown value."""
    table = result_table("segment_values", experiment_id)
    if not dimension.startswith(CUSTOM_PREFIX):
        query, parameters = f"dimension = ? AND {equals(dimension, 'value')}", [dimension, value]
    else:
        key = dimension.removeprefix(CUSTOM_PREFIX)
        query = "dimension = ? AND json_extract_string(value, ?) = ?"
        parameters = [CUSTOM, json_pointer(key), value]
    return [
        code for (code,) in cursor.execute(f"SELECT code FROM {table} WHERE {query}", parameters).fetchall()
    ]


def read_values(cursor: Cursor, experiment_id: str) -> pl.DataFrame:
    """Return the `value` of each `code` of each `dimension`."""
    return fetch_frame(cursor, f"SELECT * FROM {result_table('segment_values', experiment_id)}")


def read_counted_values(
    cursor: Cursor, experiment_id: str, dimensions: Iterable[str], *, variants: int
) -> pl.DataFrame:
    """Return the `value` of each `code` that visitors of one of the `variants` have, of each `dimension`.

    Custom dimensions are all in CUSTOM.
    """
    values, table = (result_table(kind, experiment_id) for kind in ("segment_values", "visitors"))
    columns = {CUSTOM if name.startswith(CUSTOM_PREFIX) else name for name in dimensions}
    parts = (
        f"""
        SELECT s.* FROM {values} s WHERE s.dimension = '{name}'
          AND s.code IN (SELECT {name} FROM {table} WHERE variant < {variants:d})
        """
        for name in sorted(columns.intersection(_SEGMENTS))
    )
    return fetch_frame(cursor, " UNION ALL ".join(parts))


def add_values(cursor: Cursor, experiment_id: str, values: pl.DataFrame) -> None:
    """Add segment values with codes that are not given yet."""
    _insert(cursor, "segment_values", experiment_id, values)


def digest(cursor: Cursor, experiment_id: str) -> tuple[int, ...]:
    """Hash all visitors and orders, but for segments, whose codes depend on the order of counting."""
    columns = read_columns(cursor, experiment_id)
    return _digest(cursor, experiment_id, [name for name in columns if name not in _SEGMENTS])


def digest_rows(cursor: Cursor, experiment_id: str) -> tuple[int, ...]:
    """Hash all visitors and orders, the codes of their segments included."""
    return _digest(cursor, experiment_id, read_columns(cursor, experiment_id))


def _digest(cursor: Cursor, experiment_id: str, columns: Sequence[str]) -> tuple[int, ...]:
    visitors, orders = (result_table(kind, experiment_id) for kind in ("visitors", "orders"))
    hashed = ", ".join(columns)
    rows = cursor.execute(
        f"""
        SELECT count(*), coalesce(bit_xor(hash({hashed})), 0) FROM {visitors}
        UNION ALL SELECT count(*), coalesce(bit_xor(hash({", ".join(_ORDERS)})), 0) FROM {orders}
        """
    ).fetchall()
    return tuple(number for row in rows for number in row)
