"""Reader of raw events for rollups: deduplicated, in chunks of stored rows."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

import polars as pl

from pipeline.store.event_columns import EVENT_DIMENSIONS
from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame, registered
from pipeline.store.warehouse.event_ranges import Bucket, Chunk
from pipeline.store.warehouse.events import IS_TRUSTED, SENDER_BIT, table_name
from pipeline.store.warehouse.identities import Identities
from pipeline.store.warehouse.incremental.event_keys import open_runs
from pipeline.store.warehouse.incremental.touched_events import TouchedEvents
from pipeline.store.warehouse.segment_dimensions import CUSTOM, normalized

# Segment columns of an event; the day of the week follows from its time.
SEGMENT_COLUMNS: Final = (*EVENT_DIMENSIONS, CUSTOM)
# Last exposures that are looked at; more where all are repeats.
_REPEATS: Final = (1, 1000)


class EventReader:
    """One project's events up to a sequence number, on a cursor that holds the temporary tables for them.

    Visitors joined by a user id are read as one, under the key of the person (see `Identities`).
    Repeats of an event id are left out once `skip_repeats` has found them, and so is a browser's event with
    the id of a server's or an import's.
    """

    def __init__(  # noqa: PLR0913 # whose events, which of them, and the folder of their keys
        self,
        cursor: Cursor,
        project_id: str,
        *,
        folder: Path,
        until: int,
        received_until: int,
        skip_bots: bool,
    ) -> None:
        """Read events numbered at most `until`; use `EventReader.open` instead."""
        self.cursor = cursor
        self._project_id = project_id
        self._folder = folder
        self.skip_bots = skip_bots
        self.received_until = received_until
        self._table = f'"{table_name(project_id)}"'
        self._until = until
        self._ids = self._events
        self._restriction: str | None = None
        self._is_part = False
        self._has_repeats = False
        self._identities = Identities(cursor, project_id, until=until, received_until=received_until)
        self._is_joined = False

    @property
    def _events(self) -> str:
        return self._stored(None)

    @classmethod
    @contextmanager
    def open(
        cls, warehouse: Warehouse, project_id: str, *, until: int, received_until: int, skip_bots: bool
    ) -> Iterator[Self]:
        """Read committed events numbered at most `until`, the links of which are kept (`identity_links`).

        What was received after `received_until` (microseconds since 1970) neither counts nor joins visitors.
        """
        with warehouse.cursor() as cursor:
            yield cls(
                cursor,
                project_id,
                folder=warehouse.event_keys_path,
                until=until,
                received_until=received_until,
                skip_bots=skip_bots,
            )

    def keep_to_visitors_since(self, seq: int, *, most_share: float) -> pl.Series | None:
        """Restrict reading to visitors whose count may change by events after `seq`; return their keys.

        These have such events, or are joined with others than before. Where their events are more than the
        share `most_share` of all, reading is not restricted, and None is returned.
        """
        events = self._find_touched(seq)
        if not self._keep_to_touched(events, "touched_keys", most_share):
            return None
        return self._touched()

    def visitors_since(self, seq: int) -> pl.Series:
        """Return the keys that `keep_to_visitors_since` restricts reading to, and restrict nothing."""
        self._find_touched(seq)
        return self._touched()

    def visitors_in(self, keys: Bucket) -> pl.Series:
        """Return the keys of visitor ids in a bucket that have events."""
        query = f"SELECT DISTINCT visitor_key FROM {self._events} WHERE {keys.contains('visitor_key')}"
        return fetch_frame(self.cursor, query)["visitor_key"]

    def _find_touched(self, seq: int) -> TouchedEvents:
        """Find the visitors whose count may change by events after `seq`, and all keys of their events."""
        events = self._touched_events(after=seq)
        changed = events.changed()
        keys = f"SELECT unnest([visitor_key, user_key]) AS key FROM {changed}"
        self._identities.join_near(f"SELECT key FROM ({keys}) WHERE key IS NOT NULL", seq)
        touched, keys = f"SELECT visitor_key FROM {changed}", "FROM touched_visitors"
        if self._identities.exist:
            touched = self._identities.touched_persons(changed, seq)
            keys = self._identities.keys_of("touched_visitors")
        self.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE touched_visitors AS SELECT DISTINCT * FROM ({touched})"
        )
        self.cursor.execute(f"CREATE OR REPLACE TEMP TABLE touched_keys AS {keys}")
        return events

    def _touched(self) -> pl.Series:
        return fetch_frame(self.cursor, "FROM touched_visitors")["visitor_key"]

    def exposed_experiments(self) -> frozenset[str]:
        """List the experiments that the visitors to read were exposed to, and perhaps more."""
        query = f"SELECT DISTINCT experiment_id FROM {self._table} WHERE type = 'exposure'"
        return frozenset(fetch_frame(self.cursor, query)["experiment_id"].drop_nulls())

    def linked_keys(self, keys: pl.Series) -> pl.Series:
        """Return keys of visitors and users (UInt64) with those of all that they are linked with."""
        with registered(self.cursor, "asked", keys.alias("key").to_frame()):
            self.cursor.execute("CREATE OR REPLACE TEMP TABLE linked_keys AS SELECT DISTINCT key FROM asked")
        query = "FROM linked_keys"
        if self._identities.exist:
            self._identities.join_near(query, self._until)
            query += f" UNION {self._identities.near_keys()}"
        return fetch_frame(self.cursor, query)["key"]

    def keep_to_visitors(self, keys: pl.Series, *, most_share: float) -> pl.Series | None:
        """Restrict reading to persons with one of the keys, or linked with one; return all of their keys.

        None, and no restriction, as of `keep_to_visitors_since`.
        """
        touched = self.linked_keys(keys)
        with registered(self.cursor, "touched", touched.alias("visitor_key").to_frame()):
            self.cursor.execute("CREATE OR REPLACE TEMP TABLE touched_visitors AS FROM touched")
        events = self._touched_events(after=self._until)
        is_restricted = self._keep_to_touched(events, "touched_visitors", most_share)
        return touched.alias("visitor_key") if is_restricted else None

    def _touched_events(self, *, after: int) -> TouchedEvents:
        runs = open_runs(self.cursor, self._folder, self._project_id)
        return TouchedEvents(self.cursor, self._events, after=after, runs=runs)

    def _keep_to_touched(self, events: TouchedEvents, keys: str, most_share: float) -> bool:
        """Read visitors with a key in the table `keys` alone, from a copy, unless it is too large."""
        if not events.add_visitors(keys, most=int(most_share * self.count())):
            return False
        events.add_related()
        self._is_joined = True
        self._table, self._ids = events.table, events.same_ids
        self._restriction = "visitor_key IN (FROM touched_visitors)"
        return True

    def keep_to_part(self, repeats: pl.Series, *, part: int, parts: int, has_identities: bool) -> None:
        """Restrict reading to one of several parts of the persons, in a table with all their events.

        The table may lack events of others, so the numbers of `repeats` are those among all events, and the
        events have the keys of their persons already, and a `device_key` where `has_identities`.
        """
        self._identities.are_joined(exist=has_identities)
        self._is_joined = True
        with registered(self.cursor, "found_repeats", repeats.alias("seq").to_frame()):
            self.cursor.execute("CREATE OR REPLACE TEMP TABLE repeats AS SELECT seq FROM found_repeats")
        self._has_repeats = True
        self._ids = "(SELECT NULL::UBIGINT AS event_key WHERE false)"
        self._restriction = f"visitor_key % {parts:d} = {part:d}"
        self._is_part = True

    def count(self) -> int:
        """Count the events to read, of all types."""
        return int(self.cursor.execute(f"SELECT count(*) FROM {self._events}").fetchall()[0][0])

    def chunks(self, at_once: int) -> Sequence[Chunk | None]:
        """Split the stored rows into chunks of `at_once`; one at least. The rows of a part are one."""
        if self._is_part:
            return [None]
        query = f"SELECT coalesce(max(rowid), 0) FROM {self._table}"
        ((last,),) = self.cursor.execute(query).fetchall()
        return [Chunk(first, first + at_once - 1) for first in range(0, last + 1, at_once)]

    def event_keys(self, bucket: Bucket) -> pl.Series:
        """Read the keys of event ids in `bucket`, one per event."""
        query = f"SELECT event_key FROM {self._ids} e WHERE {bucket.contains('event_key')}"
        return fetch_frame(self.cursor, query)["event_key"]

    def skip_repeats(self, event_keys: pl.Series) -> None:
        """From now on read only the first event of each of these keys, of trusted senders where there are."""
        if event_keys.is_empty():
            return
        self.cursor.execute("CREATE TEMP TABLE IF NOT EXISTS repeats (seq BIGINT)")
        with registered(self.cursor, "suspects", event_keys.alias("event_key").to_frame()):
            self.cursor.execute(
                f"""
                CREATE OR REPLACE TEMP TABLE same_id AS
                SELECT e.seq, e.event_key, e.received_at, {IS_TRUSTED} AS is_trusted
                FROM {self._ids} e SEMI JOIN suspects USING (event_key) WHERE e.not_counted IS NULL
                """
            )
        is_in_time = f"is_trusted AND received_at <= {self.received_until:d}"
        self.cursor.execute(
            f"""
            INSERT INTO repeats SELECT seq FROM same_id
            QUALIFY row_number() OVER (PARTITION BY event_key, is_trusted ORDER BY seq) > 1
              OR NOT is_trusted AND bool_or({is_in_time}) OVER (PARTITION BY event_key)
            """
        )
        self._has_repeats = True

    def repeats(self) -> pl.DataFrame:
        """Read the numbers (`seq`) of the repeats that are left out."""
        if not self._has_repeats:
            return pl.DataFrame(schema={"seq": pl.Int64})
        return fetch_frame(self.cursor, "SELECT DISTINCT seq FROM repeats")

    def exposures(
        self, variants: pl.DataFrame, chunk: Chunk | None, *, with_users: bool = False
    ) -> pl.DataFrame:
        """Read the exposures in `chunk` to `variants` (see `variant_rows`), with their segments.

        Where visitors are joined, `device_key` is the key of the visitor id of each exposure. `with_users`
        adds the `user_key`, null without a user id.
        """
        columns = [*SEGMENT_COLUMNS, *(["device_key"] if self._persons().exist else [])]
        with registered(self.cursor, "arms", variants):
            return fetch_frame(
                self.cursor,
                f"""
                SELECT a.experiment, a.variant, e.visitor_key, e.occurred_at, e.seq,
                  {"e.is_bot" if self.skip_bots else "false"} AS is_bot,
                  {SENDER_BIT} AS exposure_sender, e.address_key, e.header_fields,
                  {", ".join(f"{normalized(name, f'e.{name}')} AS {name}" for name in columns)}
                  {", e.user_key" if with_users else ""}
                FROM {self.of_type("exposure", chunk)} e JOIN arms a USING (experiment_id, variant_id)
                WHERE e.received_at BETWEEN a.received_from AND a.received_until AND e.not_counted IS NULL
                """,
            )

    def last_exposures(self, variants: pl.DataFrame) -> dict[int, int | None]:
        """Find when the last exposure to each experiment of `variants` happened, but for flagged visitors.

        None without one; experiments whose last exposures, _REPEATS at most, are all repeats are left out.
        """
        found: dict[int, int] = {}
        with_exposures: set[int] = set()
        for most in _REPEATS:
            found, with_exposures = self._find_last(variants, most)
            if with_exposures <= found.keys():
                break
        without = {*variants["experiment"]} - with_exposures
        return dict.fromkeys(without) | found

    def _find_last(self, variants: pl.DataFrame, most: int) -> tuple[dict[int, int], set[int]]:
        """Find the last exposure among the last `most` of each experiment, and the experiments with any."""
        is_human = "NOT e.is_bot" if self.skip_bots else "true"
        counted = f"""
            FROM {{}} e JOIN arms a USING (experiment_id, variant_id)
            WHERE e.type = 'exposure' AND e.not_counted IS NULL AND {is_human}
              AND e.received_at BETWEEN a.received_from AND a.received_until
        """
        last = f"SELECT a.experiment, unnest(max_by(e.event_key, e.occurred_at, {most:d})) AS event_key"
        with registered(self.cursor, "arms", variants):
            keys = fetch_frame(self.cursor, f"{last} {counted.format(self._events)} GROUP BY a.experiment")
            self.skip_repeats(keys["event_key"])
            with registered(self.cursor, "last_exposures", keys):
                query = f"""
                    SELECT a.experiment, max(e.occurred_at) {counted.format(self._each_once(self._events))}
                      AND e.event_key IN (SELECT event_key FROM last_exposures) GROUP BY a.experiment
                """
                return dict(self.cursor.execute(query).fetchall()), {*keys["experiment"]}

    @property
    def has_identities(self) -> bool:
        """True where some event has both a visitor id and a user id."""
        return self._persons().exist

    def of_type(
        self,
        kind: str,
        chunk: Chunk | None = None,
        *,
        with_related: bool = False,
        with_repeats: bool = False,
    ) -> str:
        """Build a subquery of events of a type, each once, with its visitor, of the visitors to read.

        `with_related` adds events of other visitors with a shared transaction, and `with_repeats` repeats.
        """
        events = f"(SELECT * FROM {self._stored(chunk)} e WHERE e.type = '{kind}')"
        events = self._of_persons(events, with_related=with_related, with_visitor_ids=kind != "conversion")
        return events if with_repeats else self._each_once(events)

    def transaction_keys(self, kinds: Iterable[str]) -> pl.Series:
        """Read the keys of the transactions of events of these types, one per event."""
        types = ", ".join(f"'{kind}'" for kind in kinds)
        events = self._each_once(
            f"(SELECT * FROM {self._events} WHERE type IN ({types}) AND transaction_key IS NOT NULL)"
        )
        is_human = "NOT is_bot" if self.skip_bots else "true"
        query = f"SELECT transaction_key FROM {events} WHERE {is_human}"
        return fetch_frame(self.cursor, query)["transaction_key"]

    def _each_once(self, events: str) -> str:
        if not self._has_repeats:
            return events
        # This form hashes the few repeats; an anti join may hash the many events instead.
        return f"(SELECT * FROM {events} e WHERE (seq IN (SELECT seq FROM repeats)) IS NOT TRUE)"

    def of_all_types(self, chunk: Chunk | None = None) -> str:
        """Build a subquery of all events in time, repeats and those that do not count included."""
        in_time = f"(SELECT * FROM {self._stored(chunk)} e WHERE e.received_at <= {self.received_until:d})"
        return self._of_persons(in_time, with_related=False, with_visitor_ids=False)

    def _stored(self, chunk: Chunk | None) -> str:
        """Build the subquery of the stored events, or of a chunk of them."""
        rows = "" if chunk is None else f" AND rowid BETWEEN {chunk.first:d} AND {chunk.last:d}"
        return f"(SELECT * FROM {self._table} WHERE seq <= {self._until:d}{rows})"

    def _persons(self) -> Identities:
        if not self._is_joined:
            self._identities.join_all()
            self._is_joined = True
        return self._identities

    def _of_persons(self, events: str, *, with_related: bool, with_visitor_ids: bool) -> str:
        """Build the subquery of events with their persons: of the visitors to read, or all `with_related`."""
        if self._persons().exist:
            events = self._persons().joined(events, with_visitor_ids=with_visitor_ids)
        if self._restriction is None or with_related:
            return events
        return f"(SELECT * FROM {events} e WHERE {self._restriction})"
