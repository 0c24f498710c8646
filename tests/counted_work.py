"""Counted work: statements, the rows that they scan, and the documents that are validated.

Counts are the same on a busy machine, where times are not.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import duckdb
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine

from engine.typed_records import record_from_json
from pipeline.store import documents
from pipeline.store.catalog.database import Database
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.reopening import ReopeningConnection


@dataclass(slots=True)
class WarehouseWork:
    """Statements that a block executed, and the rows that their scans of tables read."""

    statements: int = 0
    rows_scanned: int = 0

    def take(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Add the statement that the cursor executed last."""
        self.statements += 1
        profile = json.loads(cursor.get_profiling_information() or "{}")
        self.rows_scanned += profile.get("query", {}).get("total_rows_scanned", 0)


@dataclass(slots=True)
class CatalogWork:
    """Statements that a block sent to the catalog, and documents that it validated."""

    statements: int = 0
    documents: int = 0


class _CountingCursor:
    """A cursor whose statements are counted; of everything else it is the cursor itself."""

    def __init__(self, counted: duckdb.DuckDBPyConnection, work: WarehouseWork) -> None:
        self.counted, self._work = counted, work
        self._is_counted = True
        counted.execute("PRAGMA enable_profiling = 'no_output'; SET profiling_coverage = 'ALL'")
        # Statements name variables of the function that calls this one.
        counted.execute("SET python_scan_all_frames = true")

    def execute(self, *arguments: Any) -> duckdb.DuckDBPyConnection:
        self.count_last()
        executed = self.counted.execute(*arguments)
        self._is_counted = False
        return executed

    def count_last(self) -> None:
        """Count the statement that was executed last, once its rows were fetched."""
        if not self._is_counted:
            self._work.take(self.counted)
            self._is_counted = True

    def sql(self, *arguments: Any, **named: Any) -> duckdb.DuckDBPyRelation:
        self.count_last()
        relation = self.counted.sql(*arguments, **named).materialize()
        self._work.take(self.counted)
        return relation

    def unregister(self, name: str) -> duckdb.DuckDBPyConnection:
        # Itself a statement, of whose profile alone DuckDB knows afterwards.
        self.count_last()
        return self.counted.unregister(name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.counted, name)


@contextmanager
def counted_warehouse(only: Warehouse) -> Iterator[WarehouseWork]:
    """Count the statements of a warehouse inside the block; others of this process may be at work, too."""
    work = WarehouseWork()
    opened, closed = ReopeningConnection.open_cursor, ReopeningConnection.close_cursor

    def open_cursor(connection: ReopeningConnection) -> object:
        cursor = opened(connection)
        is_counted = connection is only._connection  # noqa: SLF001
        return _CountingCursor(cursor, work) if is_counted else cursor

    def close_cursor(connection: ReopeningConnection, cursor: Any) -> None:
        if isinstance(cursor, _CountingCursor):
            cursor.count_last()
            cursor = cursor.counted
        closed(connection, cursor)

    with (
        patch.object(ReopeningConnection, "open_cursor", open_cursor),
        patch.object(ReopeningConnection, "close_cursor", close_cursor),
    ):
        yield work


@contextmanager
def counted_catalog(only: Database) -> Iterator[CatalogWork]:
    """Count the statements of a catalog, and the documents that this thread validates, inside the block."""
    work = CatalogWork()

    def count(connection: Connection, *_: object) -> None:
        if connection.engine.url == only._backend.engine.url:  # noqa: SLF001
            work.statements += 1

    def build(text: str, kind: type[Any]) -> Any:
        if threading.get_ident() == own:
            work.documents += 1
        return built(text, kind)

    built, own = record_from_json, threading.get_ident()
    event.listen(Engine, "before_cursor_execute", count)
    try:
        with patch.object(documents, "record_from_json", build):
            yield work
    finally:
        event.remove(Engine, "before_cursor_execute", count)
