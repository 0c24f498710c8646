"""Facts about a warehouse, read without changing it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb


class UnreadableWarehouseError(Exception):
    """The file of the warehouse, or its log, cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarehouseFacts:
    """The id of a warehouse, and the sequence numbers in it, its log included.

    `newest_seq` counts deleted projects too; events up to `loaded_seq` are loaded from the spool.
    `newest_seqs` and `repeated_seqs` are by project: its newest number, and how many events have the number
    of another. `covered_seqs` are by experiment: the newest number that its results count.
    """

    id: str | None
    newest_seq: int
    loaded_seq: int
    newest_seqs: Mapping[str, int]
    repeated_seqs: Mapping[str, int]
    covered_seqs: Mapping[str, int]


def read_facts(path: Path) -> WarehouseFacts:
    """Read the facts of a warehouse that no process has open; UnreadableWarehouseError."""
    try:
        # A log is replayed in memory then, and stays as it is.
        with duckdb.connect(str(path), read_only=True) as connection:
            return _facts(connection)
    except duckdb.Error as error:
        raise UnreadableWarehouseError(" ".join(str(error).split("\n", maxsplit=1)[0].split())) from error


def _facts(connection: duckdb.DuckDBPyConnection) -> WarehouseFacts:
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    for table in sorted(tables):
        # DuckDB compares the checksum of a block when it is read.
        connection.execute(f'SELECT bit_xor(hash(stored)) FROM "{table}" AS stored').fetchall()
    newest: dict[str, int] = {}
    repeated: dict[str, int] = {}
    for table in sorted(name for name in tables if name.startswith("events_")):
        project_id = table.removeprefix("events_")
        query = f'SELECT coalesce(max(seq), 0), count(*) - count(DISTINCT seq) FROM "{table}"'
        newest[project_id], repeated[project_id] = connection.execute(query).fetchall()[0]
    retired = _rows(connection, tables, "retired_event_seqs", "seq")
    covered = _rows(connection, tables, "published_rollups", "experiment_id, covered_seq")
    ids = _rows(connection, tables, "warehouse_identity", "id")
    newest_seq = max([*newest.values(), *(seq for (seq,) in retired)], default=0)
    loaded = _rows(connection, tables, "loaded_events", "seq")
    return WarehouseFacts(
        id=ids[0][0] if ids else None,
        newest_seq=newest_seq,
        loaded_seq=loaded[0][0] if loaded else newest_seq,
        newest_seqs=newest,
        repeated_seqs=repeated,
        covered_seqs=dict(covered),
    )


def _rows(
    connection: duckdb.DuckDBPyConnection, tables: set[str], table: str, columns: str
) -> list[tuple[Any, ...]]:
    return connection.execute(f"SELECT {columns} FROM {table}").fetchall() if table in tables else []
