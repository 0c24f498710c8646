"""Addition of segment dimensions to results that an earlier version stored without them."""

from typing import Final

from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import published
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.visitors import result_table

_PREFIX: Final = "visitors_"


def add_missing_dimensions(cursor: Cursor) -> list[str]:
    """Add the dimensions that tables of visitors lack, null in every row.

    Returns the ids of the experiments. Counting goes on from their results: a visitor without a value is in
    no sum of a dimension, so the sums of a new one are complete.
    """
    lacking = _missing_dimensions(cursor)
    for experiment_id, names in lacking.items():
        table = result_table("visitors", experiment_id)
        for name in names:
            cursor.execute(f"ALTER TABLE {table} ADD COLUMN {name} UINTEGER")
        published.add_dimensions(cursor, experiment_id, names)
    return list(lacking)


def _missing_dimensions(cursor: Cursor) -> dict[str, list[str]]:
    """Map each experiment with a table of visitors that lacks dimensions to their names."""
    rows = cursor.execute(
        "SELECT table_name, list(column_name) FROM duckdb_columns() "
        "WHERE database_name = current_database() AND starts_with(table_name, ?) GROUP BY table_name",
        [_PREFIX],
    ).fetchall()
    lacking = {
        table.removeprefix(_PREFIX): [name for name in DIMENSIONS if name not in columns]
        for table, columns in rows
    }
    return {experiment_id: names for experiment_id, names in lacking.items() if names}
