"""Salvage of a damaged warehouse: what can be read of each table in a new file, and the old one beside it."""

import logging
from pathlib import Path
from typing import Final

import duckdb

from pipeline.disk_space import DiskFullError
from pipeline.store.warehouse.connections.errors import is_disk_full

# Rows that DuckDB stores together: those of a damaged block are lost, and those beside it are not.
_ROW_GROUP: Final = 122_880

logger = logging.getLogger(__name__)


def salvage_warehouse(path: Path, aside: Path) -> bool:
    """Move a file to `aside`, and put one with all rows that can be read in its place.

    False, with nothing changed, where the file cannot be opened at all; DiskFullError, too. Where the process
    ends in between, the next start finds the damage, or the missing file, again.
    """
    # An erasure removes it, should the process end in between.
    draft = aside.with_name(f"{aside.name}.draft")
    draft.unlink(missing_ok=True)
    try:
        _save(path, draft)
    except duckdb.Error as error:
        for part in (draft, draft.with_name(f"{draft.name}.wal")):
            part.unlink(missing_ok=True)
        if is_disk_full(error):
            raise DiskFullError(f"the disk lacks the room for the rows of {path}; make some first") from error
        logger.exception("nothing can be saved from %s", path)
        return False
    log = path.with_name(f"{path.name}.wal")
    if log.exists():
        log.rename(aside.with_name(f"{aside.name}.wal"))
    path.rename(aside)
    draft.rename(path)
    return True


def _save(path: Path, draft: Path) -> None:
    with duckdb.connect(str(draft)) as connection:
        literal = str(path).replace("'", "''")
        connection.execute(f"ATTACH '{literal}' AS damaged (READ_ONLY)")
        tables = connection.execute(
            "SELECT table_name, sql, estimated_size FROM duckdb_tables() WHERE database_name = 'damaged'"
        ).fetchall()
        for table, sql, size in tables:
            connection.execute(sql)
            _copy(connection, table, size)
        connection.execute("DETACH damaged")
        # Without a log, which would stay behind; the end of the connection would hide that it fails.
        connection.execute("CHECKPOINT")


def _copy(connection: duckdb.DuckDBPyConnection, table: str, size: int) -> None:
    for first in range(0, size + 1, _ROW_GROUP):
        try:
            connection.execute(
                f'INSERT INTO "{table}" SELECT * FROM damaged."{table}" WHERE rowid >= ? AND rowid < ?',
                [first, first + _ROW_GROUP],
            )
        except duckdb.Error as error:
            if is_disk_full(error):
                raise
            logger.error(  # noqa: TRY400 - said in one line
                "rows %d to %d of the table %s are lost: %s", first, first + _ROW_GROUP, table, error
            )
