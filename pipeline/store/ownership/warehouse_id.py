"""Id of a warehouse, stored in the warehouse itself."""

from typing import Final

from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.cursors import table_exists

_TABLE: Final = "warehouse_identity"


def read_id(warehouse: Warehouse) -> str | None:
    """Return the id; None in a warehouse that has none yet."""
    with warehouse.cursor() as cursor:
        if not table_exists(cursor, _TABLE):
            return None
        rows = cursor.execute(f"SELECT id FROM {_TABLE}").fetchall()
    return str(rows[0][0]) if rows else None


def write_id(warehouse: Warehouse, warehouse_id: str) -> None:
    """Replace the id."""
    with warehouse.transaction() as cursor:
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE} (id VARCHAR NOT NULL)")
        cursor.execute(f"DELETE FROM {_TABLE}")
        cursor.execute(f"INSERT INTO {_TABLE} VALUES (?)", [warehouse_id])
