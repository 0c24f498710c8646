"""Segment dimensions: the attributes of a visitor that results can be filtered and split by."""

from collections.abc import Iterable
from typing import Final

from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.connections.cursors import table_exists

# The column of custom dimensions: the code of a JSON object.
CUSTOM: Final = "custom"
CUSTOM_PREFIX: Final = "custom:"
_COUNTRY: Final = "country"


def is_dimension(name: str) -> bool:
    """Tell whether a name is of one of DIMENSIONS, or of a custom one as `custom:<key>`."""
    return name in DIMENSIONS or (name.startswith(CUSTOM_PREFIX) and name != CUSTOM_PREFIX)


def equals(dimension: str, value: str) -> str:
    """Build the SQL condition that the column or expression `value` is the bound value of a dimension."""
    known = DIMENSIONS.get(dimension)
    return f"upper({value}) = upper(?)" if known is not None and known.ignores_case else f"{value} = ?"


def normalized(dimension: str, column: str) -> str:
    """Build the SQL expression of a segment value as it is counted: country codes in capitals."""
    if dimension != _COUNTRY:
        return column
    return f"CASE WHEN length({column}) = 2 THEN upper({column}) ELSE {column} END"


def json_pointer(key: str) -> str:
    """Build the JSON pointer (RFC 6901) of a custom dimension; a JSON path would need quoting."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def create_tables(cursor: Cursor) -> None:
    """Create the tables of custom dimension keys, and of what was dropped, unless they exist."""
    cursor.execute("CREATE TABLE IF NOT EXISTS custom_keys (project_id VARCHAR, key VARCHAR)")
    cursor.execute(
        "CREATE TABLE IF NOT EXISTS dropped_custom_keys "
        "(project_id VARCHAR, dropped BIGINT NOT NULL, example VARCHAR)"
    )


def read_custom_keys(cursor: Cursor, project_id: str) -> frozenset[str] | None:
    """Read the custom keys that a project keeps; None where they have not been looked for."""
    if read_dropped(cursor, project_id) is None:
        return None
    rows = cursor.execute("SELECT key FROM custom_keys WHERE project_id = ?", [project_id]).fetchall()
    return frozenset(key for (key,) in rows)


def read_dropped(cursor: Cursor, project_id: str) -> tuple[int, str | None] | None:
    """Read how many attributes were dropped for their keys, and the last such key; None as above."""
    query = "SELECT dropped, example FROM dropped_custom_keys WHERE project_id = ?"
    if not table_exists(cursor, "dropped_custom_keys"):
        return None
    rows = cursor.execute(query, [project_id]).fetchall()
    return rows[0] if rows else None


def add_custom_keys(
    cursor: Cursor, project_id: str, keys: Iterable[str], dropped: int, example: str | None
) -> None:
    """Add kept keys to those of a project, and to the number of attributes that were dropped."""
    found = read_dropped(cursor, project_id)
    before, last = found or (0, None)
    cursor.execute("DELETE FROM dropped_custom_keys WHERE project_id = ?", [project_id])
    cursor.execute(
        "INSERT INTO dropped_custom_keys VALUES (?, ?, ?)", [project_id, before + dropped, example or last]
    )
    for key in keys:
        cursor.execute("INSERT INTO custom_keys VALUES (?, ?)", [project_id, key])


def replace_dropped_example(cursor: Cursor, project_id: str, text: str) -> None:
    """Replace the last key of attributes that were dropped, where there is one."""
    cursor.execute(
        "UPDATE dropped_custom_keys SET example = ? WHERE project_id = ? AND example IS NOT NULL",
        [text, project_id],
    )


def forget_custom_keys(cursor: Cursor, project_id: str) -> None:
    """Remove the custom keys of a project."""
    for table in ("custom_keys", "dropped_custom_keys"):
        cursor.execute(f"DELETE FROM {table} WHERE project_id = ?", [project_id])
