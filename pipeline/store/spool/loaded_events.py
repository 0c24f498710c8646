"""Position of the spool in the warehouse: the number up to which events are loaded."""

from typing import Final

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.connections.cursors import table_exists

_TABLE: Final = "loaded_events"


def create_table(cursor: Cursor, seq: int) -> None:
    """Create the table unless it exists; events up to `seq` may be loaded by an earlier version."""
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE} (seq BIGINT NOT NULL)")
    cursor.execute(f"INSERT INTO {_TABLE} SELECT ? WHERE NOT EXISTS (FROM {_TABLE})", [seq])
    cursor.execute(f"UPDATE {_TABLE} SET seq = ? WHERE seq < ?", [seq, seq])


def read_loaded_seq(cursor: Cursor) -> int | None:
    """Read the number; None in a store of an earlier version."""
    if not table_exists(cursor, _TABLE):
        return None
    rows = cursor.execute(f"SELECT max(seq) FROM {_TABLE}").fetchall()
    return None if rows[0][0] is None else int(rows[0][0])


def advance(cursor: Cursor, before: int, after: int) -> bool:
    """Raise the number; False where it is not `before`, and nothing is to be loaded then."""
    query = f"UPDATE {_TABLE} SET seq = ? WHERE seq = ?"
    changed = cursor.execute(query, [after, before]).fetchall()
    return bool(changed[0][0])
