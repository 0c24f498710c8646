"""Copies of a whole catalog: from either database into a SQLite file, and from such a file back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import SQLITE_FULL, SQLITE_IOERR
from typing import Final

from sqlalchemy import Connection, select
from sqlalchemy.exc import OperationalError

from pipeline.disk_space import DiskFullError
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.catalog.migrate import migrate
from pipeline.store.catalog.schema import metadata
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.private_files import make_private_file

_ROWS_AT_ONCE: Final = 1000


def copy_to_file(database: Database, path: Path) -> None:
    """Copy all rows, as of one transaction, into a new SQLite file; CatalogBusyError, DiskFullError."""
    make_private_file(path)
    copy = Database(f"sqlite:///{path}")
    try:
        with _disk_full_errors():
            migrate(copy)
        with database.read() as source, _disk_full_errors(), copy.write() as target:
            _copy_rows(source, target)
    finally:
        copy.close()
        # It is of the commits of a catalog in use.
        CommitMark(path).path.unlink(missing_ok=True)


def upgrade_file(path: Path) -> None:
    """Migrate the tables of a SQLite file to the newest version; CatalogVersionError for a newer one."""
    database = Database(f"sqlite:///{path}")
    try:
        migrate(database)
    finally:
        database.close()
        CommitMark(path).path.unlink(missing_ok=True)


def copy_from_file(path: Path, database: Database) -> None:
    """Copy all rows of a SQLite file into a catalog without any, in one transaction; CatalogBusyError."""
    stored = Database(f"sqlite:///{path}")
    try:
        with stored.read() as source, database.write() as target:
            _copy_rows(source, target)
    finally:
        stored.close()


def _copy_rows(source: Connection, target: Connection) -> None:
    """Copy the rows of each table, those that others refer to first."""
    for table in metadata.sorted_tables:
        found = source.execute(select(table), execution_options={"yield_per": _ROWS_AT_ONCE})
        for rows in found.mappings().partitions():
            target.execute(table.insert(), [dict(row) for row in rows])


@contextmanager
def _disk_full_errors() -> Iterator[None]:
    """Turn SQLite's errors of a disk that takes no more of the copy into DiskFullError."""
    try:
        yield
    except CatalogBusyError as error:
        cause = error.__cause__.orig if isinstance(error.__cause__, OperationalError) else None
        if getattr(cause, "sqlite_errorcode", 0) & 0xFF in {SQLITE_FULL, SQLITE_IOERR}:
            raise DiskFullError("the disk is full; try again once there is space") from error
        raise
