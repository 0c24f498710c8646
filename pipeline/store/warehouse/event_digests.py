"""Digests of projects' events by day of receipt, kept from the refresh that counted them on.

A digest is the number of events and the sum of their hashes, over the columns that counting reads. Sums are
of integers, so events that are removed for good are subtracted: what is left has to be stored as it was.
"""

from collections.abc import Mapping
from datetime import date
from typing import Final

import duckdb

from engine.local_days import EPOCH
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.connections.cursors import table_exists
from pipeline.store.warehouse.events import COLUMNS_DIGEST, COUNTED_COLUMNS, has_table, table_name

# By day of receipt in UTC: the number of events, and the sum of their hashes.
Digests = Mapping[date, tuple[int, int]]

_TABLE: Final = "event_digests"
_DAY_US: Final = 86_400_000_000
# Another version of DuckDB may hash otherwise, and an upgrade may add columns.
FORM: Final = f"{duckdb.__version__} {COLUMNS_DIGEST}"


def cover(cursor: Cursor, project_id: str, until: int) -> None:
    """Keep the digests of a project's events up to number `until`, beside those that are kept.

    `cursor` is in a transaction.
    """
    _create_table(cursor)
    covered = _covered_seq(cursor, project_id)
    if covered < until:
        _add(cursor, project_id, f"seq > {covered:d} AND seq <= {until:d}", until)


def subtract(cursor: Cursor, project_id: str, seqs: str) -> None:
    """Subtract the events numbered as in the query `seqs`, in the transaction that removes them."""
    _create_table(cursor)
    covered = _covered_seq(cursor, project_id)
    _add(cursor, project_id, f"seq IN ({seqs}) AND seq <= {covered:d}", covered, sign=-1)


def read(cursor: Cursor, project_id: str) -> Digests:
    """Read the digests that are kept."""
    query = f"SELECT day, sum(events)::BIGINT, sum(digest) FROM {_TABLE} WHERE project_id = ? GROUP BY day"
    return _by_day(cursor, query, [project_id])


def compute(cursor: Cursor, project_id: str) -> Digests:
    """Compute from the stored events what `read` is to return."""
    query = _digests(project_id, f"seq <= {_covered_seq(cursor, project_id):d}")
    return _by_day(cursor, query, []) if has_table(cursor, project_id) else {}


def are_of_this_form(cursor: Cursor, project_id: str) -> bool:
    """Tell whether all digests of a project were computed as this version does."""
    query = f"SELECT 1 FROM {_TABLE} WHERE project_id = ? AND form <> ? LIMIT 1"
    return not cursor.execute(query, [project_id, FORM]).fetchall()


def replace(cursor: Cursor, project_id: str, digests: Digests) -> None:
    """Keep these digests, of `compute`, in place of those that are kept."""
    covered = _covered_seq(cursor, project_id)
    cursor.execute(f"DELETE FROM {_TABLE} WHERE project_id = ?", [project_id])
    columns = [[day.isoformat() for day in digests]]
    columns += [[str(one[place]) for one in digests.values()] for place in (0, 1)]
    cursor.execute(
        f"INSERT INTO {_TABLE} SELECT ?, ?, ?, unnest(?)::DATE, unnest(?)::BIGINT, unnest(?)::HUGEINT",
        [project_id, FORM, covered, *columns],
    )


def forget(cursor: Cursor, project_id: str) -> None:
    """Remove the digests of a project."""
    if table_exists(cursor, _TABLE):
        cursor.execute(f"DELETE FROM {_TABLE} WHERE project_id = ?", [project_id])


def _add(cursor: Cursor, project_id: str, condition: str, covered: int, *, sign: int = 1) -> None:
    cursor.execute(
        f"INSERT INTO {_TABLE} SELECT ?, ?, ?, day, {sign:d} * events, {sign:d} * digest "
        f"FROM ({_digests(project_id, condition)})",
        [project_id, FORM, covered],
    )


def _digests(project_id: str, condition: str) -> str:
    """Build the query of the digests of the stored events that meet a condition."""
    return f"""
        SELECT DATE '{EPOCH:%Y-%m-%d}' + (received_at // {_DAY_US})::INTEGER AS day, count(*) AS events,
          sum(hash) AS digest
        FROM (
          SELECT received_at, hash(*COLUMNS(*)) AS hash
          FROM (SELECT {COUNTED_COLUMNS} FROM "{table_name(project_id)}" e WHERE {condition})
        ) GROUP BY day
    """


def _by_day(cursor: Cursor, query: str, values: list[str]) -> Digests:
    rows = cursor.execute(query, values).fetchall()
    return {day: (events, digest) for day, events, digest in rows if events or digest}


def _covered_seq(cursor: Cursor, project_id: str) -> int:
    """Return the number of the newest event in the digests of a project; 0 without any."""
    query = f"SELECT coalesce(max(covered_seq), 0) FROM {_TABLE} WHERE project_id = ?"
    return int(cursor.execute(query, [project_id]).fetchall()[0][0])


def _create_table(cursor: Cursor) -> None:
    cursor.execute(
        f"CREATE TABLE IF NOT EXISTS {_TABLE} (project_id VARCHAR, form VARCHAR, covered_seq BIGINT, "
        "day DATE, events BIGINT, digest HUGEINT)"
    )
