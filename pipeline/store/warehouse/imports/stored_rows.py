"""Rows of earlier imports, read back from their events.

A row of visitors is an exposure with the id `<experiment>-x-<row>`, and conversions with the ids
`<experiment>-<goal>-<row>`. `<row>` is `<content>-<number>` in a file with visitor ids and
`<series>-<position>-<content>` in one without, with hashes in hexadecimal; version 0.1 took the line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import polars as pl

from pipeline.store.warehouse.arrow_streams import QueryStream
from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.events import has_table, table_name

# Begins the visitor ids of rows that have none of their own.
ANONYMOUS_PREFIX: Final = "row-"
_AT_ONCE: Final = 50_000
_HASH: Final = r"[0-9a-f]{16}"


class ImportedInto(NamedTuple):
    """The experiment of an import, and its project."""

    project_id: str
    experiment_id: str

    @property
    def exposure_prefix(self) -> str:
        """Beginning of the event ids of imported exposures; the row follows."""
        return f"{self.experiment_id}-x-"

    @property
    def exposures(self) -> str:
        """Build the subquery of imported exposures with their `row_id`, which binds `$experiment`."""
        return f"""(
            SELECT substr(event_id, length($experiment) + 4) AS row_id, * FROM "{table_name(self.project_id)}"
            WHERE type = 'exposure' AND experiment_id = $experiment
              AND starts_with(event_id, $experiment || '-x-')
        )"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRowKinds:
    """Numbers of stored rows: all, those without visitor ids, without times, and numbered by line.

    `first_us` is the earliest time of a row (epoch µs), None without any.
    """

    rows: int = 0
    anonymous: int = 0
    untimed: int = 0
    by_line: int = 0
    first_us: int | None = None


def count_row_kinds(cursor: Cursor, into: ImportedInto) -> StoredRowKinds:
    """Count the stored rows of each kind."""
    if not has_table(cursor, into.project_id):
        return StoredRowKinds()
    # Where a file has no times, its events have that of the import.
    query = f"""
        SELECT count(*) AS rows,
          count(*) FILTER (starts_with(visitor_id, '{ANONYMOUS_PREFIX}') AND
            starts_with(row_id || '-', substr(visitor_id, {len(ANONYMOUS_PREFIX) + 1}) || '-')) AS anonymous,
          count(*) FILTER (occurred_at = received_at) AS untimed,
          count(*) FILTER (NOT contains(row_id, '-')) AS by_line, min(occurred_at) AS first_us
        FROM {into.exposures}
    """
    (counts,) = cursor.execute(query, {"experiment": into.experiment_id}).fetchall()
    names = ("rows", "anonymous", "untimed", "by_line", "first_us")
    return StoredRowKinds(**dict(zip(names, counts, strict=True)))


def find_last_exposure(cursor: Cursor, into: ImportedInto) -> int | None:
    """Find the time of the last exposure (epoch µs), that of a bot only where all are; None without any."""
    if not has_table(cursor, into.project_id):
        return None
    query = (
        "SELECT coalesce(max(occurred_at) FILTER (NOT is_bot), max(occurred_at)) "
        f'FROM "{table_name(into.project_id)}" '
        "WHERE type = 'exposure' AND experiment_id = $experiment"
    )
    (found,) = cursor.execute(query, {"experiment": into.experiment_id}).fetchall()[0]
    return None if found is None else int(found)


def find_stored_events(cursor: Cursor, project_id: str, event_keys: pl.Series) -> pl.Series:
    """Find those of the keys (UInt64) that events of the project have."""
    if not has_table(cursor, project_id):
        return event_keys.clear()
    with registered(cursor, "asked", event_keys.alias("event_key").to_frame()):
        return fetch_frame(
            cursor,
            f'SELECT DISTINCT event_key FROM "{table_name(project_id)}" SEMI JOIN asked USING (event_key)',
        )["event_key"]


def count_stored_visitors(cursor: Cursor, into: ImportedInto, rows: pl.DataFrame, *, until: int) -> int:
    """Count the rows whose visitor has an imported exposure numbered at most `until`.

    `rows` has `visitor_key` and, where the time has to be the same too, `occurred_at`.
    """
    if until == 0:
        return 0
    with registered(cursor, "asked", rows):
        query = (
            f"SELECT count(*) FROM asked SEMI JOIN (FROM {into.exposures} WHERE seq <= $until) "
            f"USING ({', '.join(rows.columns)})"
        )
        values = {"experiment": into.experiment_id, "until": until}
        return int(cursor.execute(query, values).fetchall()[0][0])


def read_anonymous_rows(cursor: Cursor, into: ImportedInto) -> pl.DataFrame:
    """Read the stored rows without visitor ids: `series`, `position`, `content`, `received_at`.

    They are in order of series, time of import and position. Rows numbered by line are left out.
    """
    query = f"""
        SELECT ('0x' || row_id[1:16])::UBIGINT AS series, split_part(row_id, '-', 2)::BIGINT AS position,
          ('0x' || row_id[-16:])::UBIGINT AS content, received_at
        FROM {into.exposures} WHERE regexp_full_match(row_id, '{_HASH}-[0-9]+-{_HASH}')
        ORDER BY series, received_at, position
    """
    return pl.DataFrame(QueryStream(cursor.sql(query, params={"experiment": into.experiment_id})))


def read_rows_by_line(cursor: Cursor, into: ImportedInto, goal_ids: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Read the stored rows that version 0.1 numbered by line, in order of import and line.

    Yields frames with `visitor_id`, `variant_id`, `occurred_at`, `received_at` and, for each goal i, a whole
    number `g<i>` (1 or 0; minor units, negative for a refund). Of events with one id the first is the row's.
    """
    amounts = ", ".join(
        f"coalesce(sum(c.amount) FILTER (WHERE c.goal_id = $g{i}), 0)::BIGINT AS g{i}"
        for i in range(len(goal_ids))
    )
    firsts = "QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY seq) = 1"
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE rows_by_line AS
        WITH exposed AS (
          SELECT * FROM {into.exposures} WHERE NOT contains(row_id, '-') {firsts}
        ), converted AS (
          SELECT substr(event_id, length($experiment || goal_id) + 3) AS row_id, visitor_id, goal_id,
            CASE WHEN is_refund THEN -1 ELSE 1 END * coalesce(revenue_cents, 1) AS amount
          FROM "{table_name(into.project_id)}"
          WHERE type = 'conversion' AND starts_with(event_id, $experiment || '-' || goal_id || '-') {firsts}
        )
        SELECT any_value(e.visitor_id) AS visitor_id, any_value(e.variant_id) AS variant_id,
          any_value(e.occurred_at) AS occurred_at, any_value(e.received_at) AS received_at, {amounts}
        FROM exposed e LEFT JOIN converted c USING (row_id, visitor_id)
        GROUP BY row_id ORDER BY any_value(e.received_at), row_id::BIGINT
        """,
        {"experiment": into.experiment_id, **{f"g{i}": goal_id for i, goal_id in enumerate(goal_ids)}},
    )
    total = int(cursor.execute("SELECT count(*) FROM rows_by_line").fetchall()[0][0])
    for first in range(0, total, _AT_ONCE):
        yield fetch_frame(
            cursor,
            "SELECT * FROM rows_by_line WHERE rowid >= ? AND rowid < ? ORDER BY rowid",
            [first, first + _AT_ONCE],
        )
