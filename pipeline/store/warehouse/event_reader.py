"""Reader of raw events for rollups: deduplicated, a bucket of visitors at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Final, NamedTuple, Self

import polars as pl

from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame, registered
from pipeline.store.warehouse.events import IS_TRUSTED, SENDER_BIT, has_table, table_name
from pipeline.store.warehouse.identities import Identities
from pipeline.store.warehouse.segment_dimensions import CUSTOM, DIMENSIONS, normalized
from pipeline.store.warehouse.touched_events import SAME_IDS, TABLE, TouchedEvents

# Segment columns of an event; the day of the week follows from its time.
SEGMENT_COLUMNS: Final = (*(name for name in DIMENSIONS if name != "day_of_week"), CUSTOM)
_KEYS: Final = 2**64


class Bucket(NamedTuple):
    """Range of keys from `low` to `high`, both included."""

    low: int
    high: int

    def contains(self, column: str) -> str:
        """Build the SQL condition that a key is in the bucket."""
        return f"{column} BETWEEN {self.low:d} AND {self.high:d}"


def buckets(events: int, at_once: int) -> list[Bucket]:
    """Split the keys, which are hashes, so that about `at_once` of `events` fall into each bucket."""
    count = max(1, -(-events // at_once))
    edges = [_KEYS * number // count for number in range(count + 1)]
    return [Bucket(low, following - 1) for low, following in pairwise(edges)]


class EventReader:
    """One project's events up to a sequence number, on a cursor that holds the temporary tables for them.

    Visitors joined by a user id are read as one, under the key of the person (see `Identities`).
    Repeats of an event id are left out once `skip_repeats` has found them. A browser's event is outranked by
    a server's or an import's with the same id: it is left out of what ends after that one was received.
    """

    def __init__(
        self, cursor: Cursor, project_id: str, *, until: int, received_until: int, skip_bots: bool
    ) -> None:
        """Read events numbered at most `until`; use `EventReader.open` instead."""
        self.cursor = cursor
        self.skip_bots = skip_bots
        self._received_until = received_until
        self._events = f'(SELECT * FROM "{table_name(project_id)}" WHERE seq <= {until:d})'
        self._ids = self._events
        self._touched = ""
        self._has_repeats = False
        self.has_outranked = False
        self._identities = Identities(cursor, self._events, received_until=received_until)

    @classmethod
    @contextmanager
    def open(
        cls, warehouse: Warehouse, project_id: str, *, until: int, received_until: int, skip_bots: bool
    ) -> Iterator[Self]:
        """Read committed events numbered at most `until`; the project has a table of events.

        Visitors are joined by events received up to `received_until` (microseconds since 1970).
        """
        with warehouse.cursor() as cursor:
            yield cls(cursor, project_id, until=until, received_until=received_until, skip_bots=skip_bots)

    def keep_to_visitors_since(self, seq: int, *, most_share: float) -> pl.Series | None:
        """Restrict reading to visitors whose count may change by events after `seq`; return their keys.

        These have such events, or are joined with others than before. Where their events are more than the
        share `most_share` of all, reading is not restricted, and None is returned.
        """
        events = TouchedEvents(self.cursor, self._events, after=seq)
        changed = events.changed()
        touched, keys = f"SELECT visitor_key FROM {changed}", "FROM touched_visitors"
        if self._identities.exist:
            touched = self._identities.touched_persons(changed, seq)
            keys = self._identities.keys_of("touched_visitors")
        self.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE touched_visitors AS SELECT DISTINCT * FROM ({touched})"
        )
        self.cursor.execute(f"CREATE OR REPLACE TEMP TABLE touched_keys AS {keys}")
        if not events.add_visitors("touched_keys", most=int(most_share * self.count())):
            return None
        events.add_related("touched_keys")
        self._touched = "SEMI JOIN touched_keys USING (visitor_key)"
        self._events, self._ids = TABLE, SAME_IDS
        return fetch_frame(self.cursor, "SELECT visitor_key FROM touched_visitors")["visitor_key"]

    @property
    def is_whole(self) -> bool:
        """True while the events of all visitors are read."""
        return not self._touched

    def count(self) -> int:
        """Count the events to read, of all types."""
        query = f"SELECT count(*) FROM {self._events} e {self._touched}"
        return int(self.cursor.execute(query).fetchall()[0][0])

    def event_keys(self, bucket: Bucket) -> pl.Series:
        """Read the keys of event ids in `bucket`, one per event."""
        query = f"SELECT event_key FROM {self._events} e {self._touched} WHERE {bucket.contains('event_key')}"
        return fetch_frame(self.cursor, query)["event_key"]

    def skip_repeats(self, event_keys: pl.Series) -> None:
        """From now on read only the first event of each of these keys, and find those that are outranked."""
        if event_keys.is_empty():
            return
        for table in ("repeats (seq BIGINT)", "outranked (seq BIGINT, outranked_at BIGINT)"):
            self.cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table}")
        with registered(self.cursor, "suspects", event_keys.alias("event_key").to_frame()):
            self.cursor.execute(
                f"""
                CREATE OR REPLACE TEMP TABLE same_id AS
                SELECT e.seq, e.event_key, e.received_at, {IS_TRUSTED} AS is_trusted
                FROM {self._ids} e SEMI JOIN suspects USING (event_key) WHERE e.not_counted IS NULL
                """
            )
        self.cursor.execute(
            """
            INSERT INTO repeats SELECT seq FROM same_id
            QUALIFY row_number() OVER (PARTITION BY event_key, is_trusted ORDER BY seq) > 1
            """
        )
        self.cursor.execute(
            """
            INSERT INTO outranked SELECT s.seq, t.received_at FROM same_id s JOIN (
              SELECT event_key, min(received_at) AS received_at FROM same_id WHERE is_trusted GROUP BY ALL
            ) t USING (event_key) WHERE NOT s.is_trusted
            """
        )
        self._has_repeats = True
        self.has_outranked = bool(self.cursor.execute("SELECT 1 FROM outranked LIMIT 1").fetchall())

    def exposures(self, variants: pl.DataFrame, bucket: Bucket) -> pl.DataFrame:
        """Read exposures of visitors in `bucket` to `variants` (see `variant_rows`), with their segments.

        Where visitors are joined, `device_key` is the key of the visitor id of each exposure.
        """
        columns = [*SEGMENT_COLUMNS, *(["device_key"] if self._identities.exist else [])]
        with registered(self.cursor, "arms", variants):
            return fetch_frame(
                self.cursor,
                f"""
                SELECT a.experiment, a.variant, e.visitor_key, e.occurred_at, e.seq,
                  {"e.is_bot" if self.skip_bots else "false"} AS is_bot,
                  {SENDER_BIT} AS exposure_sender, e.address_key, e.header_fields,
                  {", ".join(f"{normalized(name, f'e.{name}')} AS {name}" for name in columns)}
                FROM {self.of_type("exposure")} e JOIN arms a USING (experiment_id, variant_id)
                {self.join_outranked()}
                WHERE e.received_at BETWEEN a.received_from AND a.received_until AND e.not_counted IS NULL
                  AND {bucket.contains("e.visitor_key")}
                  {"AND (o.outranked_at <= a.received_until) IS NOT TRUE" if self.has_outranked else ""}
                """,
            )

    def join_outranked(self) -> str:
        """Build the join of events `e` with the time `o.outranked_at`; nothing where none is outranked."""
        if not self.has_outranked:
            return ""
        first = "SELECT seq, min(outranked_at) AS outranked_at FROM outranked GROUP BY seq"
        return f"LEFT JOIN ({first}) o ON o.seq = e.seq"

    @property
    def has_identities(self) -> bool:
        """True where some event has both a visitor id and a user id."""
        return self._identities.exist

    def of_type(self, kind: str, *, related: str | None = None) -> str:
        """Build a subquery of events of a type, each once, with its visitor, of the visitors to read.

        Events of other visitors that meet the condition `related` are included.
        """
        events = f"(SELECT * FROM {self._events} e WHERE e.type = '{kind}')"
        events = self._of_persons(events, related, with_visitor_ids=kind != "conversion")
        if self._has_repeats:
            # This form hashes the few repeats; an anti join may hash the many events instead.
            events = f"(SELECT * FROM {events} e WHERE (seq IN (SELECT seq FROM repeats)) IS NOT TRUE)"
        return events

    def of_all_types(self) -> str:
        """Build a subquery of all events in time, repeats and those that do not count included."""
        in_time = f"(SELECT * FROM {self._events} e WHERE e.received_at <= {self._received_until:d})"
        return self._of_persons(in_time, None, with_visitor_ids=False)

    def _of_persons(self, events: str, related: str | None, *, with_visitor_ids: bool) -> str:
        """Build the subquery of those of the events that are of the visitors to read, or `related`."""
        if not self.is_whole:
            events = _selected(events, "touched_keys", related)
        if self._identities.exist:
            events = self._identities.joined(events, with_visitor_ids=with_visitor_ids)
            if not self.is_whole:
                # A visitor id may equal the user id of another person.
                events = _selected(events, "touched_visitors", related)
        return events


def _selected(events: str, keys: str, related: str | None) -> str:
    """Build the subquery of events with the keys in a table, or that meet the condition `related`."""
    touched = f"visitor_key IN (SELECT visitor_key FROM {keys})"
    condition = touched if related is None else f"({touched}) IS TRUE OR ({related}) IS TRUE"
    return f"(SELECT * FROM {events} e WHERE {condition})"


def newest_seq(warehouse: Warehouse, project_id: str) -> int | None:
    """Find the sequence number of the project's newest event; None without events."""
    with warehouse.cursor() as cursor:
        if not has_table(cursor, project_id):
            return None
        newest = cursor.execute(f'SELECT max(seq) FROM "{table_name(project_id)}"').fetchall()[0][0]
    return None if newest is None else int(newest)
