"""History of visitors in raw events: first variants, exposures, attributes of `init`, first sights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from pipeline.store.warehouse.connection import Warehouse, fetch_frame, registered
from pipeline.store.warehouse.event_reader import Bucket, EventReader
from pipeline.store.warehouse.events import HEADER_BITS, has_table, table_name
from pipeline.store.warehouse.segment_dimensions import CUSTOM, DIMENSIONS, normalized

# Segments of an `init` that are taken as they are; the last one that is known counts.
_PLAIN: Final = tuple(
    name for name in DIMENSIONS if name not in {*HEADER_BITS, "day_of_week", "visitor_identity"}
)


@dataclass(frozen=True, slots=True)
class FirstVariants:
    """Visitors in the order of their keys, the position of each one's first variant and its `seq`."""

    visitor_keys: npt.NDArray[np.uint64]
    variants: npt.NDArray[np.uint8]
    seqs: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentQuery:
    """Query for visitors of one experiment, in events after one sequence number up to another.

    Events before the start, such as a preview of the draft, do not assign.
    """

    project_id: str
    experiment_id: str
    variant_ids: Sequence[str]
    started_us: int
    after_seq: int
    up_to_seq: int


def first_variants(warehouse: Warehouse, query: AssignmentQuery) -> FirstVariants:
    """Find the first variant of each visitor, as positions in `query.variant_ids`, ignoring others."""
    statement = f"""
        SELECT visitor_key, arg_min(list_position($variants, variant_id) - 1, seq)::UTINYINT AS variant,
          min(seq) AS seq
        FROM "{table_name(query.project_id)}"
        WHERE seq > $after AND seq <= $up_to AND experiment_id = $experiment AND received_at >= $started
          AND type IN ('assignment', 'exposure') AND not_counted IS NULL
          AND list_contains($variants, variant_id)
        GROUP BY visitor_key
        ORDER BY visitor_key
    """
    with warehouse.cursor() as cursor:
        if not has_table(cursor, query.project_id):
            return FirstVariants(np.empty(0, np.uint64), np.empty(0, np.uint8), np.empty(0, np.int64))
        columns = cursor.execute(statement, _values_of(query)).fetchnumpy()
    return FirstVariants(
        np.asarray(columns["visitor_key"], np.uint64),
        np.asarray(columns["variant"], np.uint8),
        np.asarray(columns["seq"], np.int64),
    )


def exposed_visitors(warehouse: Warehouse, query: AssignmentQuery) -> npt.NDArray[np.uint64]:
    """Find the visitors with exposures that count, in the order of their keys."""
    statement = f"""
        SELECT DISTINCT visitor_key FROM "{table_name(query.project_id)}"
        WHERE seq > $after AND seq <= $up_to AND experiment_id = $experiment AND received_at >= $started
          AND type = 'exposure' AND not_counted IS NULL AND list_contains($variants, variant_id)
        ORDER BY visitor_key
    """
    with warehouse.cursor() as cursor:
        if not has_table(cursor, query.project_id):
            return np.empty(0, np.uint64)
        columns = cursor.execute(statement, _values_of(query)).fetchnumpy()
    return np.asarray(columns["visitor_key"], np.uint64)


def _values_of(query: AssignmentQuery) -> dict[str, object]:
    return {
        "variants": list(query.variant_ids),
        "after": query.after_seq,
        "up_to": query.up_to_seq,
        "experiment": query.experiment_id,
        "started": query.started_us,
    }


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
