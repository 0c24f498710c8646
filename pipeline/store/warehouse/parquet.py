"""Parquet files of raw events, orders and aggregates, as of a transaction."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from engine.measures.sums import MONEY
from pipeline.store.warehouse.aggregates import EVERYONE, SUMS, sums
from pipeline.store.warehouse.connection import Cursor, copy_to_file, registered
from pipeline.store.warehouse.events import has_table, table_name
from pipeline.store.warehouse.visitor_export import TO_PARQUET
from pipeline.store.warehouse.visitors import has_units, result_table, segment_condition

# Files of events split at multiples of this many sequence numbers, which all projects share.
_BLOCK: Final = 65_536
# A file with at least this many events is full.
EVENTS_A_FILE: Final = 1_000_000
_TIMES: Final = ("received_at", "occurred_at")
_DAY: Final = "DATE '1970-01-01' + {}"
# The sums are of cents here: amounts of other measures are not written.
_OF_CENTS: Final = {
    "total": "cents",
    "cohort_total": "cohort_cents",
    "cohort_squared": "cohort_cents_squared",
    "cohort_cubed_high": "cohort_cents_cubed_high",
    "cohort_cubed_low": "cohort_cents_cubed_low",
}
_EXPORTED: Final = ", ".join(f"{name} AS {_OF_CENTS.get(name, name)}" for name in SUMS)


class EventRange(NamedTuple):
    """Range of a project's events for one file; `content` differs where the events do."""

    first_seq: int
    last_seq: int
    rows: int
    content: int

    def with_block(self, block: "EventRange") -> "EventRange":
        """Extend the range by a later block."""
        return EventRange(
            self.first_seq, block.last_seq, self.rows + block.rows, self.content ^ block.content
        )


def event_ranges(
    cursor: Cursor, project_id: str, *, events_a_file: int = EVENTS_A_FILE
) -> Iterator[EventRange]:
    """Split a project's events into files: all ranges but the last stay the same from then on."""
    current: EventRange | None = None
    for block in _blocks(cursor, project_id):
        if current is not None and current.rows >= events_a_file:
            yield current
            current = None
        current = block if current is None else current.with_block(block)
    if current is not None:
        yield current


def write_events(cursor: Cursor, project_id: str, events: EventRange, path: Path) -> int:
    """Write the events of a range in order; times get a timestamp type. Return the number of rows."""
    times = ", ".join(f"make_timestamptz({name}) AS {name}" for name in _TIMES)
    query = f"""
        SELECT * REPLACE ({times}) FROM "{table_name(project_id)}"
        WHERE seq BETWEEN {events.first_seq:d} AND {events.last_seq:d}
    """
    return copy_to_file(cursor, query, path, TO_PARQUET)


def write_orders(cursor: Cursor, experiment_id: str, goal_ids: Sequence[str], path: Path) -> int:
    """Write revenue on other days than that of the visitor's first conversion; return the number of rows.

    A visitor's revenue includes it; `from_day` is the day of the first conversion, null where the visitor
    has none.
    """
    with registered(cursor, "goals", _ids("goal", dict(enumerate(goal_ids)))):
        query = f"""
            SELECT o.visitor_key, g.goal_id, {_DAY.format("o.from_day")} AS from_day,
              {_DAY.format("o.day")} AS day, o.cents
            FROM {result_table("orders", experiment_id)} o JOIN goals g USING (goal)
            WHERE o.sum = '{MONEY.name}' ORDER BY o.visitor_key, g.goal, o.day
        """
        return copy_to_file(cursor, query, path, TO_PARQUET)


def write_aggregates(
    cursor: Cursor,
    experiment_id: str,
    variants: Mapping[int, str],
    goal_ids: Sequence[str],
    path: Path,
) -> int:
    """Write the sums by goal, variant, day and segment; return the number of rows.

    `variants` are ids by number. Sums over all visitors have neither `dimension` nor `value`; rows with
    `visitors` have no goal.
    """
    with (
        registered(cursor, "variants", _ids("variant", variants)),
        registered(cursor, "goals", _ids("goal", dict(enumerate(goal_ids)))),
    ):
        query = f"""
            SELECT nullif(dimension, '{EVERYONE}') AS dimension, nullif(value, '{EVERYONE}') AS value,
              v.variant_id, g.goal_id, {_DAY.format("day")} AS day, {_EXPORTED}
            FROM {sums(experiment_id, f"sum IS NULL OR sum = '{MONEY.name}'")} a
            JOIN variants v USING (variant) LEFT JOIN goals g USING (goal)
            ORDER BY a.dimension, a.value, a.variant, a.goal, a.day
        """
        return copy_to_file(cursor, query, path, TO_PARQUET)


def visitors_of_variants(cursor: Cursor, experiment_id: str) -> dict[int, int]:
    """Count visitors by the variant's number, or by the mark of those counted in no variant.

    Where units are compared, without the visitors of units of several variants.
    """
    if has_units(cursor, experiment_id):
        condition = segment_condition(cursor, experiment_id, {}, has_units=True)
        table = result_table("visitors", experiment_id)
        query = f"SELECT variant, count(*) FROM {table} WHERE {condition} GROUP BY variant"
        return dict(cursor.execute(query).fetchall())
    return dict(
        cursor.execute(
            f"""
            SELECT variant, sum(visitors)::BIGINT FROM {result_table("aggregates", experiment_id)}
            WHERE dimension = ? GROUP BY variant
            """,
            [EVERYONE],
        ).fetchall()
    )


def _blocks(cursor: Cursor, project_id: str) -> list[EventRange]:
    """List the project's events by block of sequence numbers, in order."""
    if not has_table(cursor, project_id):
        return []
    rows = cursor.execute(
        f"""
        SELECT min(seq), max(seq), count(*), bit_xor(event_key) FROM "{table_name(project_id)}"
        GROUP BY seq // {_BLOCK} ORDER BY min(seq)
        """
    ).fetchall()
    return [EventRange(*row) for row in rows]


def _ids(kind: str, ids: Mapping[int, str]) -> pl.DataFrame:
    """Build a frame of numbers and ids."""
    return pl.DataFrame(list(ids.items()), schema={kind: pl.UInt8, f"{kind}_id": pl.String}, orient="row")
