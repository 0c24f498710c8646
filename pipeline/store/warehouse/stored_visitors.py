"""Rows of visitors and of their orders, read of several experiments at once."""

from collections.abc import Iterator, Sequence

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.visitors import TABLES_AT_ONCE, result_table


def read_of(
    cursor: Cursor, experiment_ids: Sequence[str], visitor_keys: pl.Series
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the rows of visitors of several experiments, and those of their orders.

    The column `experiment` has the position of the experiment; goals that an experiment lacks are null.
    """
    keys = "sought_visitors"
    with registered(cursor, "sought", visitor_keys.alias("visitor_key").to_frame()):
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {keys} AS FROM sought")
    # Rows are found by their keys first: to read every column of all rows takes twice as long.
    rows = f"rowid IN (SELECT k.rowid FROM {{table}} k SEMI JOIN {keys} USING (visitor_key))"
    orders = _read_all_of(cursor, "orders", experiment_ids, f"visitor_key IN (FROM {keys})")
    return _read_all_of(cursor, "visitors", experiment_ids, rows), orders


def _read_all_of(
    cursor: Cursor, kind: str, experiment_ids: Sequence[str], condition: str = "true"
) -> pl.DataFrame:
    """Read the rows of one of the TABLES of several experiments, with the `experiment` by position.

    They meet the `condition`, in which `{table}` is the table's name.
    """
    return _read(cursor, kind, [(number, one, condition) for number, one in enumerate(experiment_ids)])


def _read(
    cursor: Cursor, kind: str, parts: Sequence[tuple[int, str, str]], columns: str = "*"
) -> pl.DataFrame:
    """Read columns of the rows of experiments, each with its number, that meet its condition."""
    queries = [
        f"SELECT {number:d}::USMALLINT AS experiment, {columns} FROM {table} "
        f"WHERE {condition.format(table=table)}"
        for number, one, condition in parts
        for table in (result_table(kind, one),)
    ]
    groups = (queries[first : first + TABLES_AT_ONCE] for first in range(0, len(queries), TABLES_AT_ONCE))
    frames = [fetch_frame(cursor, " UNION ALL BY NAME ".join(group)) for group in groups]
    return pl.concat(frames, how="diagonal_relaxed")


def read_in_parts(
    cursor: Cursor, experiment_ids: Sequence[str], *, rows: int
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Read all rows of visitors and their orders as `read_of` does, about `rows` visitors at a time."""
    part: list[tuple[int, str, str]] = []
    room = rows
    for number, one in enumerate(experiment_ids):
        query = f"SELECT coalesce(max(rowid) + 1, 0) FROM {result_table('visitors', one)}"
        ((places,),) = cursor.execute(query).fetchall()
        for first in range(0, places, rows):
            part.append((number, one, f"rowid BETWEEN {first:d} AND {first + rows - 1:d}"))
            room -= min(rows, places - first)
            if room <= 0:
                yield _read_part(cursor, part)
                part, room = [], rows
    if part:
        yield _read_part(cursor, part)


def _read_part(cursor: Cursor, part: Sequence[tuple[int, str, str]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    theirs = [
        (
            number,
            one,
            f"visitor_key IN (SELECT visitor_key FROM {result_table('visitors', one)} WHERE {rows})",
        )
        for number, one, rows in part
    ]
    return _read(cursor, "visitors", part), _read(cursor, "orders", theirs)


def read_keys(cursor: Cursor, experiment_ids: Sequence[str], low: int, high: int) -> pl.Series:
    """Read the keys from `low` to `high` of the visitors of experiments."""
    within = f"visitor_key BETWEEN {low:d} AND {high:d}"
    parts = [(number, one, within) for number, one in enumerate(experiment_ids)]
    return _read(cursor, "visitors", parts, "visitor_key")["visitor_key"]


def read_values_of(cursor: Cursor, experiment_ids: Sequence[str]) -> pl.DataFrame:
    """Return the `value` of each `code` of each `dimension` of several experiments, by position."""
    return _read_all_of(cursor, "segment_values", experiment_ids)
