"""Parquet copies of raw events, visitors, orders and aggregates, as a transaction sees them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from pipeline.store.warehouse.aggregates import EVERYONE
from pipeline.store.warehouse.connection import Cursor, copy_to_file, registered
from pipeline.store.warehouse.events import has_table, table_name
from pipeline.store.warehouse.visitor_export import TO_PARQUET
from pipeline.store.warehouse.visitors import result_table

# A file of events begins and ends with a block of this many sequence numbers, which other projects share.
_BLOCK: Final = 65_536
# Events of one file: more than this are begun in another.
EVENTS_A_FILE: Final = 1_000_000
_MOMENTS: Final = ("received_at", "occurred_at")
_DAY: Final = "DATE '1970-01-01' + {}"


class EventRange(NamedTuple):
    """Events of a project that go into one file; `content` differs where the events do."""

    first_seq: int
    last_seq: int
    rows: int
    content: int

    def with_block(self, block: "EventRange") -> "EventRange":
        """Together with the events of a later block."""
        return EventRange(
            self.first_seq, block.last_seq, self.rows + block.rows, self.content ^ block.content
        )


def event_ranges(
    cursor: Cursor, project_id: str, *, events_a_file: int = EVENTS_A_FILE
) -> Iterator[EventRange]:
    """How a project's events are split into files: all ranges but the last are the same ever after."""
    current: EventRange | None = None
    for block in _blocks(cursor, project_id):
        if current is not None and current.rows >= events_a_file:
            yield current
            current = None
        current = block if current is None else current.with_block(block)
    if current is not None:
        yield current


def write_events(cursor: Cursor, project_id: str, events: EventRange, path: Path) -> int:
    """Write the events of a range, in the order they were stored; times become points in time."""
    moments = ", ".join(f"make_timestamptz({name}) AS {name}" for name in _MOMENTS)
    query = f"""
        SELECT * REPLACE ({moments}) FROM "{table_name(project_id)}"
        WHERE seq BETWEEN {events.first_seq:d} AND {events.last_seq:d}
    """
    return copy_to_file(cursor, query, path, TO_PARQUET)


def write_orders(cursor: Cursor, experiment_id: str, goal_ids: Sequence[str], path: Path) -> int:
    """Write what was paid on other days than that of the visitor's first conversion, by goal and day.

    A visitor's revenue includes it; `from_day` is the day that it would be counted on otherwise, null
    where the visitor has no conversion.
    """
    with registered(cursor, "goals", _ids("goal", dict(enumerate(goal_ids)))):
        query = f"""
            SELECT o.visitor_key, g.goal_id, {_DAY.format("o.from_day")} AS from_day,
              {_DAY.format("o.day")} AS day, o.cents
            FROM {result_table("orders", experiment_id)} o JOIN goals g USING (goal)
            ORDER BY o.visitor_key, g.goal, o.day
        """
        return copy_to_file(cursor, query, path, TO_PARQUET)


def write_aggregates(
    cursor: Cursor,
    experiment_id: str,
    variants: Mapping[int, str],
    goal_ids: Sequence[str],
    path: Path,
) -> int:
    """Write the sums by goal, variant, day and segment; `variants` names what each number stands for.

    Sums of all visitors have neither `dimension` nor `value`; visitors are counted under no goal.
    """
    sums = "visitors, conversions, cents, cohort_conversions, cohort_cents, cohort_cents_squared"
    with (
        registered(cursor, "variants", _ids("variant", variants)),
        registered(cursor, "goals", _ids("goal", dict(enumerate(goal_ids)))),
    ):
        query = f"""
            SELECT nullif(dimension, '{EVERYONE}') AS dimension, nullif(value, '{EVERYONE}') AS value,
              v.variant_id, g.goal_id, {_DAY.format("day")} AS day, {sums}
            FROM {result_table("aggregates", experiment_id)} a
            JOIN variants v USING (variant) LEFT JOIN goals g USING (goal)
            ORDER BY a.dimension, a.value, a.variant, a.goal, a.day
        """
        return copy_to_file(cursor, query, path, TO_PARQUET)


def visitors_of_variants(cursor: Cursor, experiment_id: str) -> dict[int, int]:
    """How many visitors each variant has, by its number; those set aside have numbers of their own."""
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
    """The project's events by block of sequence numbers, in order."""
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
    """The id behind each number."""
    return pl.DataFrame(list(ids.items()), schema={kind: pl.UInt8, f"{kind}_id": pl.String}, orient="row")
