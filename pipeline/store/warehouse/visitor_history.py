"""History of visitors in raw events: first assignments, attributes of `init`, first sights."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from engine.design.units import VISITOR, Unit, is_clustered, unit_attribute
from pipeline.store.event_columns import EVENT_DIMENSIONS, HEADER_BITS
from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame, registered
from pipeline.store.warehouse.event_ranges import Bucket, Chunk
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.events import has_table, table_name
from pipeline.store.warehouse.segment_dimensions import CUSTOM, json_pointer, normalized

# Segments of an `init` that are taken as they are; the last one that is known counts.
_PLAIN: Final = tuple(name for name in EVENT_DIMENSIONS if name not in {*HEADER_BITS, "visitor_identity"})
_VISIT_COLUMNS: Final = (*_PLAIN, *HEADER_BITS, "visitor_identity")


# Types of events that assign the visitor to the variant that they name.
ASSIGNING: Final = frozenset({"assignment", "exposure"})
EXPOSURE: Final = "exposure"
# A place holds the `seq` of the first event, whether there was an exposure, and the position of the variant.
PLACE_SHIFT: Final = 16
EXPOSED: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class AssignmentRule:
    """Rule of an experiment's assignments: events that name one of its variants, received since its start.

    Events before the start, such as a preview of the draft, do not assign. In a holdout the last of the
    `variant_ids` is that of visitors with any event from before the start, which goes before all others.
    """

    experiment_id: str
    started_us: int
    variant_ids: tuple[str, ...]
    unit: Unit = VISITOR
    is_holdout: bool = False


class FirstPlaces(NamedTuple):
    """First assignment of each visitor in each experiment, in the order of visitors' keys.

    An experiment is the number of its rule. Of a place, the lower bits are the position of the variant in the
    rule and EXPOSED, the others the `seq` of the event. A visitor has one for each of its `units` in those of
    the `clustered` numbers, as texts that events have; `units` is None where there are no such rules.
    """

    visitor_keys: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.uint32]
    places: npt.NDArray[np.int64]
    units: pl.Series | None = None
    clustered: Collection[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentQuery:
    """Query for the first assignments by numbered rules in a project's events after a sequence number.

    Only of visitors with keys from `first_key` to `last_key`.
    """

    project_id: str
    rules: Mapping[int, AssignmentRule]
    after_seq: int = 0
    first_key: int = 0
    last_key: int = 2**64 - 1


def first_places(warehouse: Warehouse, query: AssignmentQuery) -> FirstPlaces:
    """Find the first assignments of visitors."""
    types = ", ".join(f"'{name}'" for name in sorted(ASSIGNING))
    clustered = [number for number, rule in query.rules.items() if is_clustered(rule.unit)]
    unit = f"if(a.is_user, e.user_id, json_extract_string(e.{CUSTOM}, a.pointer))" if clustered else "NULL"
    statement = f"""
        SELECT e.visitor_key, a.number, {unit} AS unit,
          min((e.seq << {PLACE_SHIFT}) + a.position)
            + if(bool_or(e.type = '{EXPOSURE}'), {EXPOSED}, 0) AS place
        FROM "{table_name(query.project_id)}" e JOIN assigning_variants a
          ON e.experiment_id = a.experiment_id AND e.variant_id = a.variant_id
            AND e.received_at >= a.started_us
        WHERE e.seq > $after AND e.type IN ({types}) AND e.not_counted IS NULL
          AND e.visitor_key BETWEEN $first AND $last AND e.received_at >= $earliest
        GROUP BY ALL
        ORDER BY e.visitor_key
    """
    values = {
        "after": query.after_seq,
        "first": query.first_key,
        "last": query.last_key,
        "earliest": min((rule.started_us for rule in query.rules.values()), default=0),
    }
    with warehouse.cursor() as cursor:
        if not query.rules or not has_table(cursor, query.project_id):
            return FirstPlaces(np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.int64))
        with registered(cursor, "assigning_variants", _assigning_variants(query.rules)):
            found = fetch_frame(cursor, statement, values)
        seen = [_seen_before(cursor, query, number) for number in _holdouts(query.rules)]
    if seen:
        found = pl.concat([found, *seen], how="diagonal_relaxed").sort("visitor_key")
    return FirstPlaces(
        found["visitor_key"].to_numpy(),
        found["number"].to_numpy(),
        found["place"].cast(pl.Int64).to_numpy(),
        found["unit"].cast(pl.String) if clustered else None,
        clustered,
    )


def _holdouts(rules: Mapping[int, AssignmentRule]) -> list[int]:
    return [number for number, rule in rules.items() if rule.is_holdout]


def _seen_before(cursor: Cursor, query: AssignmentQuery, number: int) -> pl.DataFrame:
    """Find the visitors with events from before the start of a holdout, by the number of its rule."""
    rule = query.rules[number]
    return fetch_frame(
        cursor,
        f"""
        SELECT DISTINCT e.visitor_key, {number}::UINTEGER AS number,
          {len(rule.variant_ids) - 1}::BIGINT AS place
        FROM "{table_name(query.project_id)}" e
        WHERE e.seq > $after AND e.occurred_at < $started AND e.visitor_id IS NOT NULL
          AND e.visitor_key BETWEEN $first AND $last
        """,
        {
            "after": query.after_seq,
            "started": rule.started_us,
            "first": query.first_key,
            "last": query.last_key,
        },
    )


def _assigning_variants(rules: Mapping[int, AssignmentRule]) -> pl.DataFrame:
    rows = [
        (number, position, rule.experiment_id, variant_id, rule.started_us, *_unit_of(rule.unit))
        for number, rule in rules.items()
        for position, variant_id in enumerate(rule.variant_ids)
    ]
    schema = {
        "number": pl.UInt32,
        "position": pl.Int64,
        "experiment_id": pl.String,
        "variant_id": pl.String,
        "started_us": pl.Int64,
        "is_user": pl.Boolean,
        "pointer": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _unit_of(unit: Unit) -> tuple[bool, str | None]:
    """Return whether a unit is the user, and the JSON pointer of its attribute."""
    attribute = unit_attribute(unit)
    return unit == "user", None if attribute is None else json_pointer(attribute)


class EventMark(NamedTuple):
    """Event that proves up to where a store's history is the same: its number, its key and its arrival."""

    seq: int
    event_key: int
    received_at: int


def newest_event(warehouse: Warehouse, project_id: str, *, up_to_seq: int | None = None) -> EventMark | None:
    """Find the newest event of a project, numbered at most `up_to_seq`; None where there is none."""
    table = table_name(project_id)
    newest = f'SELECT max(seq) FROM "{table}" WHERE seq <= $most'
    with warehouse.cursor() as cursor:
        if not has_table(cursor, project_id):
            return None
        rows = cursor.execute(
            f'SELECT seq, event_key, received_at FROM "{table}" WHERE seq = ({newest})',
            {"most": 2**62 if up_to_seq is None else up_to_seq},
        ).fetchall()
    return EventMark(*rows[0]) if rows else None


def count_events(warehouse: Warehouse, project_id: str) -> int:
    """Count the events of a project, which takes no time."""
    with warehouse.cursor() as cursor:
        if not has_table(cursor, project_id):
            return 0
        return int(cursor.execute(f'SELECT count(*) FROM "{table_name(project_id)}"').fetchall()[0][0])


def collect_visits(reader: EventReader) -> bool:
    """Collect what visitors gave to `init`, in the order of their keys; tell whether there is anything."""
    columns = ", ".join(f"{normalized(name, f'e.{name}')} AS {name}" for name in (*_VISIT_COLUMNS, CUSTOM))
    reader.cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE visits AS
        SELECT e.visitor_key, e.user_key, e.seq, e.header_fields, {columns} FROM {reader.of_all_types()} e
        WHERE e.type IN ('assignment', 'init') ORDER BY e.visitor_key
        """
    )
    return bool(reader.cursor.execute("SELECT 1 FROM visits LIMIT 1").fetchall())


def read_visits(reader: EventReader, firsts: pl.DataFrame, bucket: Bucket) -> pl.DataFrame:
    """Read the segments that visitors in `bucket` gave to `init` before their first exposures were received.

    `firsts` has the `experiment`, `visitor_key` and `seq` of each first exposure. Of each segment the last
    known value counts; those in HEADER_BITS are in `<name>` where the sender said so, and in `<name>_header`
    where only headers did. `custom` joins the custom dimensions, `is_identified` tells of user ids, and
    `user_key` is that of the last one.
    """
    columns = [
        *(_latest(name, "true") for name in _PLAIN),
        *(_latest(name, _stated(bit)) for name, bit in HEADER_BITS.items()),
        *(f"{_latest(name, f'NOT {_stated(bit)}')}_header" for name, bit in HEADER_BITS.items()),
        "bool_or(e.visitor_identity = 'identified') IS TRUE AS is_identified",
        _latest("user_key", "true"),
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
            FROM visits e JOIN first_exposures f USING (visitor_key)
            WHERE e.seq < f.seq AND {bucket.contains("e.visitor_key")}
            GROUP BY f.experiment, f.visitor_key
            """,
        )


def read_sights(reader: EventReader, chunk: Chunk | None, *, of_users_only: bool) -> pl.DataFrame:
    """Read when each visitor was seen first in `chunk`, and identified first outside of `init`.

    `first_seen_at` and `identified_at` (null for never) are in microseconds since 1970. Events of all types
    tell, counted or not; `of_users_only` leaves out those that do not identify.
    """
    is_identified = (
        "e.user_key IS NOT NULL AND e.visitor_id IS NOT NULL AND e.type NOT IN ('assignment', 'init')"
    )
    return fetch_frame(
        reader.cursor,
        f"""
        SELECT e.visitor_key, min(e.occurred_at) AS first_seen_at,
          min(e.occurred_at) FILTER ({is_identified}) AS identified_at
        FROM {reader.of_all_types(chunk)} e
        {f"WHERE {is_identified}" if of_users_only else ""}
        GROUP BY e.visitor_key
        """,
    )


def _latest(name: str, condition: str) -> str:
    return f"arg_max(e.{name}, e.seq) FILTER ({condition}) AS {name}"


def _stated(bit: int) -> str:
    return f"(coalesce(e.header_fields, 0) & {bit:d} = 0)"
