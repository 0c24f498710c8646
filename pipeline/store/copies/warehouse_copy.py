"""Copy of the whole warehouse into another DuckDB file, while it is in use."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb

from pipeline.store.catalog.ids import new_id
from pipeline.store.private_files import make_private_folder
from pipeline.store.spool.loaded_events import read_loaded_seq
from pipeline.store.warehouse.connection import Warehouse, when_idle


def copy_warehouse(warehouse: Warehouse, path: Path, *, at_begin: Callable[[], None]) -> int:
    """Copy every table, as of one transaction, into a new file without a log.

    `at_begin` is called once the transaction has begun: the copy has nothing that is committed after it.
    Returns the number up to which every event is in the copy. Deleted rows are not in its bytes.

    Raises:
        DiskFullError: the disk of the copy is full; the warehouse itself is not affected.
        WarehouseUnavailableError: the warehouse is lost meanwhile.
    """
    make_private_folder(path.parent)
    name = new_id("copy")
    with warehouse.cursor() as cursor:
        source = cursor.execute("SELECT current_database()").fetchall()[0][0]
        literal = str(path).replace("'", "''")
        cursor.execute(f"ATTACH '{literal}' AS \"{name}\"")
    try:
        with warehouse.transaction() as cursor:
            # DuckDB fixes what a transaction sees at its first read.
            loaded_seq = read_loaded_seq(cursor) or 0
            at_begin()
            cursor.execute(f'COPY FROM DATABASE "{source}" TO "{name}"')
        # A search for a table looks at the copy, too.
        when_idle(lambda: _checkpoint(warehouse, name))
    finally:
        # The connection may have been opened anew, without the copy.
        with suppress(duckdb.Error), warehouse.cursor() as cursor:
            cursor.execute(f'DETACH "{name}"')
    return loaded_seq


def _checkpoint(warehouse: Warehouse, name: str) -> None:
    with warehouse.cursor() as cursor:
        cursor.execute(f'CHECKPOINT "{name}"')
