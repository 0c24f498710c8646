"""History of visitors up to their first exposures: attributes of `init`, first sight, identification."""

from typing import Final

import polars as pl

from pipeline.store.warehouse.connection import fetch_frame, registered
from pipeline.store.warehouse.event_reader import Bucket, EventReader
from pipeline.store.warehouse.events import HEADER_BITS
from pipeline.store.warehouse.segment_dimensions import CUSTOM, DIMENSIONS, normalized

# Segments of an `init` that are taken as they are; the last one that is known counts.
_PLAIN: Final = tuple(
    name for name in DIMENSIONS if name not in {*HEADER_BITS, "day_of_week", "visitor_identity"}
)


def read_visits(reader: EventReader, firsts: pl.DataFrame, bucket: Bucket) -> pl.DataFrame:
    """Read the segments that visitors in `bucket` gave to `init` before their first exposures were received.

    `firsts` has the `experiment`, `visitor_key` and `seq` of each first exposure. Of each segment the last
    known value counts; those in HEADER_BITS are in `<name>` where the sender said so, and in `<name>_header`
    where only headers did. `custom` joins the custom dimensions, and `is_identified` tells of user ids.
    """
    columns = [
        *(_latest(name, "true") for name in _PLAIN),
        *(_latest(name, _stated(bit)) for name, bit in HEADER_BITS.items()),
        *(f"{_latest(name, f'NOT {_stated(bit)}')}_header" for name, bit in HEADER_BITS.items()),
        "bool_or(e.visitor_identity = 'identified') IS TRUE AS is_identified",
        f"""list_reduce(
          list(e.{CUSTOM}::JSON ORDER BY e.seq) FILTER (e.{CUSTOM} IS NOT NULL),
          lambda former, later: json_merge_patch(former, later)
        )::VARCHAR AS {CUSTOM}""",
    ]
    with registered(reader.cursor, "first_exposures", firsts):
        return fetch_frame(
            reader.cursor,
            f"""
            SELECT f.experiment, f.visitor_key, {", ".join(columns)}
            FROM {reader.of_all_types()} e JOIN first_exposures f USING (visitor_key)
            WHERE e.type IN ('assignment', 'init') AND e.seq < f.seq AND {bucket.contains("e.visitor_key")}
            GROUP BY f.experiment, f.visitor_key
            """,
        )


def read_first_sights(reader: EventReader, bucket: Bucket) -> pl.DataFrame:
    """Read when each visitor in `bucket` was seen first, and identified first outside of `init`.

    `first_seen_at` and `identified_at` (null for never) are in microseconds since 1970. Events of all types
    tell, counted or not.
    """
    return fetch_frame(
        reader.cursor,
        f"""
        SELECT e.visitor_key, min(e.occurred_at) AS first_seen_at,
          min(e.occurred_at) FILTER (
            e.user_key IS NOT NULL AND e.visitor_id IS NOT NULL AND e.type NOT IN ('assignment', 'init')
          ) AS identified_at
        FROM {reader.of_all_types()} e
        WHERE {bucket.contains("e.visitor_key")}
        GROUP BY e.visitor_key
        """,
    )


def _latest(name: str, condition: str) -> str:
    return f"arg_max({normalized(name, f'e.{name}')}, e.seq) FILTER ({condition}) AS {name}"


def _stated(bit: int) -> str:
    return f"(coalesce(e.header_fields, 0) & {bit:d} = 0)"
