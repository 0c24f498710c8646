"""Raw events: one append-only table per project, in the order of commits."""

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Final

import duckdb
import polars as pl

from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.arrow_streams import FrameStream
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.cursors import table_exists

_PREFIX: Final = "events_"
# Ids come from the catalog; no other text reaches a table name.
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")

# Rows of a row group of DuckDB. Whole row groups of a transaction go into the file at once, and other rows
# through the log first, which takes nearly twice the time.
ROW_GROUP_ROWS: Final = 122_880

# One bit a kind, so that the kinds of several events add up to one small number.
SENDER_BITS: Final[Mapping[str, int]] = {"browser": 1, "server": 2, "import": 4, "unknown": 8}
TRUSTED_BITS: Final = SENDER_BITS["server"] | SENDER_BITS["import"]
# Of an event `e`; events from before senders were stored rank like those of browsers.
IS_TRUSTED: Final = "(e.sender IN ('server', 'import')) IS TRUE"
_CASES: Final = " ".join(f"WHEN '{name}' THEN {bit}" for name, bit in SENDER_BITS.items())
SENDER_BIT: Final = f"CASE e.sender {_CASES} ELSE {SENDER_BITS['unknown']} END::UTINYINT"


_NUMBERS: Final = {
    "received_at": pl.Int64,
    "occurred_at": pl.Int64,
    "event_key": pl.UInt64,
    "visitor_key": pl.UInt64,
    "user_key": pl.UInt64,
    "value": pl.Float64,
    "revenue_cents": pl.Int64,
    "transaction_key": pl.UInt64,
    "address_key": pl.UInt64,
    "header_fields": pl.Int64,
    "is_refund": pl.Boolean,
    "is_bot": pl.Boolean,
}
_REQUIRED: Final = {
    "received_at",
    "occurred_at",
    "event_id",
    "event_key",
    "type",
    "visitor_key",
    "is_refund",
    "is_bot",
}
_SQL_TYPES: Final[Mapping[pl.DataType | type[pl.DataType], str]] = {
    pl.Int64: "BIGINT",
    pl.UInt64: "UBIGINT",
    pl.Float64: "DOUBLE",
    pl.Boolean: "BOOLEAN",
    pl.String: "VARCHAR",
}

# The columns of every batch but for `seq`, which is given at the commit.
EVENT_SCHEMA: Final = pl.Schema({name: _NUMBERS.get(name, pl.String) for name in EventRow._fields})
# Differs where the columns do, so that files with the columns of an earlier version are written again.
COLUMNS_DIGEST: Final = f"{zlib.crc32(','.join(EVENT_SCHEMA).encode()):08x}"
_COLUMNS_SQL: Final = ", ".join(
    ["seq BIGINT NOT NULL"]
    + [
        f"{name} {_SQL_TYPES[kind]}{' NOT NULL' if name in _REQUIRED else ''}"
        for name, kind in EVENT_SCHEMA.items()
    ]
)

# Texts that only their keys are compared by; of a visitor id it matters whether there is one.
_UNREAD: Final = {"event_id", "user_id", "transaction_id", "visitor_id"}


def counted_columns(has_visitor_id: str) -> str:
    """List what counting reads of an event `e`, given how to tell whether it has a visitor id."""
    read = (f"e.{name}" for name in EVENT_SCHEMA if name not in _UNREAD)
    return ", ".join(["e.seq", f"CASE WHEN {has_visitor_id} THEN '' END AS visitor_id", *read])


COUNTED_COLUMNS: Final = counted_columns("e.visitor_id IS NOT NULL")


def table_name(project_id: str) -> str:
    """Name the table of a project's events; ValueError for an invalid project id."""
    if not _SAFE_ID.match(project_id):
        raise ValueError(f"{project_id!r} is no project id; ids are letters, digits, '-' and '_'")
    return f"{_PREFIX}{project_id}"


def create_table(cursor: duckdb.DuckDBPyConnection, project_id: str) -> None:
    """Create the project's table unless it exists; without a unique index, which would slow commits."""
    cursor.execute(f'CREATE TABLE IF NOT EXISTS "{table_name(project_id)}" ({_COLUMNS_SQL})')


def name_rows(cursor: duckdb.DuckDBPyConnection, project_id: str, rows: pl.DataFrame) -> None:
    """Let queries of this cursor find `rows` as the project's table, which has no row numbers."""
    # Of a table of PyArrow, unlike of a stream, only the columns that a query names are read.
    cursor.register(table_name(project_id), rows.to_arrow(compat_level=pl.CompatLevel.newest()))


def add_missing_columns(warehouse: Warehouse) -> None:
    """Add the columns that tables of an earlier version lack, null in every row; all tables or none."""
    with warehouse.transaction() as cursor:
        for table in _tables(cursor):
            stored = {*cursor.table(f'"{table}"').columns}
            for name, kind in EVENT_SCHEMA.items():
                if name not in stored:
                    cursor.execute(f'ALTER TABLE "{table}" ADD COLUMN {name} {_SQL_TYPES[kind]}')


def append(cursor: duckdb.DuckDBPyConnection, project_id: str, events: pl.DataFrame) -> None:
    """Append a batch: EVENT_SCHEMA with `seq`; missing columns are null."""
    # The statement names the variable, which takes half the time of registering a view.
    batch = FrameStream(events)  # noqa: F841
    cursor.execute(f'INSERT INTO "{table_name(project_id)}" BY NAME SELECT * FROM batch')


def to_batch(rows: Sequence[EventRow]) -> pl.DataFrame:
    """Lay rows out as one batch of EVENT_SCHEMA."""
    if not rows:
        return EVENT_SCHEMA.to_frame()
    columns = zip(*rows, strict=True)
    # A series at a time is ten times faster than a frame from rows.
    return pl.DataFrame(
        [
            pl.Series(name, column, kind)
            for (name, kind), column in zip(EVENT_SCHEMA.items(), columns, strict=True)
        ]
    )


def number_events(events: pl.DataFrame, first_seq: int) -> pl.DataFrame:
    """Give the events of a batch their sequence numbers, counting up from `first_seq`."""
    return events.with_columns(seq=pl.int_range(first_seq, first_seq + events.height, eager=True))


def drop(cursor: duckdb.DuckDBPyConnection, project_id: str) -> None:
    """Remove every event of a project; its sequence numbers are not used again."""
    if not has_table(cursor, project_id):
        return
    table = table_name(project_id)
    newest = cursor.execute(f'SELECT coalesce(max(seq), 0) FROM "{table}"').fetchall()[0][0]
    retire_seq(cursor, newest)
    cursor.execute(f'DROP TABLE "{table}"')


def retire_seq(cursor: duckdb.DuckDBPyConnection, seq: int) -> None:
    """Never give a sequence number up to `seq` again, although no stored event has it."""
    cursor.execute("CREATE TABLE IF NOT EXISTS retired_event_seqs (seq BIGINT NOT NULL)")
    cursor.execute("INSERT INTO retired_event_seqs VALUES (?)", [seq])


def has_table(cursor: duckdb.DuckDBPyConnection, project_id: str) -> bool:
    """Tell whether the project has a table of events."""
    return table_exists(cursor, table_name(project_id))


def stored_projects(warehouse: Warehouse) -> list[str]:
    """List the ids of projects with a table of events."""
    with warehouse.cursor() as cursor:
        return [name.removeprefix(_PREFIX) for name in _tables(cursor)]


def last_seqs(warehouse: Warehouse) -> dict[str, int]:
    """Find the newest sequence number of each project that has events."""
    with warehouse.cursor() as cursor:
        newest = {
            table.removeprefix(_PREFIX): cursor.execute(f'SELECT max(seq) FROM "{table}"').fetchall()[0][0]
            for table in _tables(cursor)
        }
    return {project_id: seq for project_id, seq in newest.items() if seq is not None}


def last_seq(warehouse: Warehouse) -> int:
    """Find the newest sequence number, dropped projects included; 0 in an empty store."""
    return max(0, *last_seqs(warehouse).values(), retired_seq(warehouse))


def retired_seq(warehouse: Warehouse) -> int:
    """Find the newest sequence number of dropped projects; 0 without one."""
    with warehouse.cursor() as cursor:
        if not table_exists(cursor, "retired_event_seqs"):
            return 0
        return int(cursor.execute("SELECT coalesce(max(seq), 0) FROM retired_event_seqs").fetchall()[0][0])


def count_between(cursor: duckdb.DuckDBPyConnection, project_id: str, *, after: int, until: int) -> int:
    """Count a project's events numbered above `after`, up to `until`, repeats of an event id included."""
    if after >= until or not has_table(cursor, project_id):
        return 0
    query = f'SELECT count(*) FROM "{table_name(project_id)}" WHERE seq > ? AND seq <= ?'
    return int(cursor.execute(query, [after, until]).fetchall()[0][0])


def count_and_digest(cursor: duckdb.DuckDBPyConnection, project_id: str, *, until: int) -> tuple[int, int]:
    """Count a project's events numbered up to `until`, and compute the exclusive or of their keys."""
    if not has_table(cursor, project_id):
        return 0, 0
    query = f"""
        SELECT count(*), coalesce(bit_xor(event_key), 0) FROM "{table_name(project_id)}" WHERE seq <= ?
    """
    ((count, digest),) = cursor.execute(query, [until]).fetchall()
    return int(count), int(digest)


def count_custom_texts(cursor: duckdb.DuckDBPyConnection, project_id: str) -> dict[str, int]:
    """Count the events with each text of custom dimensions, in the order of its first event."""
    if not has_table(cursor, project_id):
        return {}
    rows = cursor.execute(
        f'SELECT custom, count(*) FROM "{table_name(project_id)}" WHERE custom IS NOT NULL '
        "GROUP BY custom ORDER BY min(seq)"
    ).fetchall()
    return dict(rows)


def _tables(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    # Sorted and told apart by DuckDB they take twice the time.
    query = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
    names = [name for (name,) in cursor.execute(query).fetchall()]
    return sorted(name for name in names if name.startswith(_PREFIX))
