"""Damage of the catalog's file: found before anything is changed, and the rows that can be read, saved."""

import logging
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, Table, select, text
from sqlalchemy.exc import DatabaseError, IntegrityError

from pipeline.store.catalog.backends import opening_error
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.catalog.migrate import migrate
from pipeline.store.catalog.schema import metadata
from pipeline.store.ownership.commit_mark import CommitMark
from pipeline.store.ownership.content_mark import content_mark, is_changed
from pipeline.store.private_files import make_private_file

logger = logging.getLogger(__name__)


def catalog_damage(path: Path) -> str | None:
    """Describe the damage of a SQLite file; None for a sound one, an empty one, and none; CatalogError."""
    if not path.exists() or not path.stat().st_size:
        return None
    # Before SQLite moves its log into the file.
    if is_changed(path):
        return (
            "it is not as the service left it: a bit was changed on the disk, or another program wrote to it"
        )
    return structural_damage(path)


def structural_damage(path: Path) -> str | None:
    """Describe what SQLite finds wrong in a file, which may be in use; None for a sound one. CatalogError.

    It reads through SQLite alone. A process that opens and closes such a file otherwise loses its locks on it
    (https://www.sqlite.org/howtocorrupt.html), and another process then removes the log that is in use.
    """
    # With a cache of its own, so that it finds what is on the disk.
    database = Database(f"sqlite:///{path}")
    try:
        return database.damage()
    except CatalogBusyError as error:
        raise opening_error(error) from error
    finally:
        database.close()


def salvage_catalog(path: Path, aside: Path) -> None:
    """Save the rows that can be read into a new file, and put it in the place of the damaged one.

    That one is moved aside with its log. Where the process ends in between, the next start finds the damage,
    or the missing file, again.
    """
    # An erasure removes it, should the process end in between.
    draft = aside.with_name(f"{aside.name}.draft")
    make_private_file(draft)
    damaged, saved = Database(f"sqlite:///{path}"), Database(f"sqlite:///{draft}")
    try:
        migrate(saved)
        with saved.write() as target:
            for table in metadata.sorted_tables:
                number = sum(_save(target, table, row) for row in _rows(damaged, table))
                logger.warning("%d rows of the table %s were saved from %s", number, table.name, aside)
        saved.empty_log()
    finally:
        damaged.close()
        saved.close()
    # The log first: SQLite would take it for the new file's.
    for end in ("-wal", "-shm", ""):
        part = path.with_name(path.name + end)
        if part.exists():
            part.rename(aside.with_name(aside.name + end))
    draft.rename(path)
    for mark in (CommitMark(draft).path, CommitMark(path).path, content_mark(path)):
        mark.unlink(missing_ok=True)


def _save(target: Connection, table: Table, row: dict[str, object]) -> bool:
    """Insert a row; False where it cannot be, such as without the row that it refers to."""
    try:
        with target.begin_nested():
            target.execute(table.insert().values(row))
    except IntegrityError:
        return False
    return True


def _rows(damaged: Database, table: Table) -> Iterator[dict[str, object]]:
    """Yield the rows of a table that can be read, found from both ends of it."""
    seen = set[int]()
    for order in ("ASC", "DESC"):
        for rowid in _rowids(damaged, table, order):
            if rowid in seen:
                break
            seen.add(rowid)
            yield from _row(damaged, table, rowid)


def _row(damaged: Database, table: Table, rowid: int) -> list[dict[str, object]]:
    """Read a row; none where it cannot be read."""
    try:
        with damaged.read() as connection:
            query = select(table).where(text("rowid = :rowid"))
            return [dict(row) for row in connection.execute(query, {"rowid": rowid}).mappings()]
    except Exception as error:  # noqa: BLE001 - a changed bit of a value may raise nearly anything
        logger.warning("a row of the table %s cannot be read: %s", table.name, error)
        return []


def _rowids(damaged: Database, table: Table, order: str) -> Iterator[int]:
    try:
        with damaged.read() as connection:
            query = f'SELECT rowid FROM "{table.name}" NOT INDEXED ORDER BY rowid {order}'
            yield from connection.exec_driver_sql(query).scalars()
    except DatabaseError:
        return
