"""Which raw events a rollup reads: each once, of one bucket of visitors at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Final, NamedTuple, Self

import polars as pl

from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame, registered
from pipeline.store.warehouse.events import has_table, table_name
from pipeline.store.warehouse.visitors import CUSTOM, DIMENSIONS

# What an event says about the visitor; the day of the week follows from its time.
SEGMENT_COLUMNS: Final = (*(name for name in DIMENSIONS if name != "day_of_week"), CUSTOM)
_KEYS: Final = 2**64
# A conversion without a visitor names only a user.
_USER_ONLY: Final = "CASE WHEN e.visitor_id IS NULL THEN e.user_key END"


class Bucket(NamedTuple):
    """The keys from `low` to `high`, both included."""

    low: int
    high: int

    def holds(self, column: str) -> str:
        """The condition that a key is in it."""
        return f"{column} BETWEEN {self.low:d} AND {self.high:d}"


def buckets(events: int, at_once: int) -> list[Bucket]:
    """Split all keys so that about `at_once` of `events` fall into each bucket: keys are hashes."""
    count = max(1, -(-events // at_once))
    edges = [_KEYS * number // count for number in range(count + 1)]
    return [Bucket(low, following - 1) for low, following in pairwise(edges)]


class EventReads:
    """One project's events up to a sequence number, on a cursor whose temporary tables they need.

    A conversion that names only a user belongs to the visitor who first identified as that user, if any
    did. Events found to be repeats of an event id are read no more.
    """

    def __init__(self, cursor: Cursor, project_id: str, *, until: int, skip_bots: bool) -> None:
        """Read events numbered at most `until`; `EventReads.open` is the way to get one."""
        self.cursor = cursor
        self.skip_bots = skip_bots
        self._events = f'(SELECT * FROM "{table_name(project_id)}" WHERE seq <= {until:d})'
        self._touched = ""
        self._has_repeats = False
        self._has_identities = self._find_identities()

    @classmethod
    @contextmanager
    def open(cls, warehouse: Warehouse, project_id: str, *, until: int, skip_bots: bool) -> Iterator[Self]:
        """Read what is committed, up to number `until`; the project has a table of events."""
        with warehouse.cursor() as cursor:
            yield cls(cursor, project_id, until=until, skip_bots=skip_bots)

    def keep_to_visitors_since(self, seq: int) -> pl.Series:
        """Read only visitors whom events numbered after `seq` are about; returns their keys."""
        # Who identifies takes over conversions that named only the user, so both are touched; and so is a
        # user whose conversions are a touched visitor's.
        self.cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE touched_visitors AS
            WITH named AS (
              SELECT DISTINCT unnest([e.visitor_key, e.user_key, i.visitor_key]) AS visitor_key
              FROM {self._events} e LEFT JOIN identities i ON {_USER_ONLY} = i.user_key WHERE e.seq > {seq:d}
            )
            FROM named WHERE visitor_key IS NOT NULL
            UNION SELECT i.user_key FROM identities i SEMI JOIN named USING (visitor_key)
            """
        )
        self._touched = "SEMI JOIN touched_visitors USING (visitor_key)"
        return fetch_frame(self.cursor, "SELECT visitor_key FROM touched_visitors")["visitor_key"]

    def keep_to_all(self) -> None:
        """Read all visitors again."""
        self._touched = ""

    @property
    def is_whole(self) -> bool:
        """Whether these are the events of all visitors."""
        return not self._touched

    def count(self) -> int:
        """How many events there are to read, of every type."""
        query = f"SELECT count(*) FROM {self._events} e {self._touched}"
        return int(self.cursor.execute(query).fetchall()[0][0])

    def event_keys(self, bucket: Bucket) -> pl.Series:
        """The keys in `bucket` of the ids of events to read, one an event."""
        query = f"SELECT event_key FROM {self._events} e {self._touched} WHERE {bucket.holds('event_key')}"
        return fetch_frame(self.cursor, query)["event_key"]

    def skip_repeats(self, event_keys: pl.Series) -> None:
        """Of the events with these keys read only the first of each key, whoever they are about."""
        if event_keys.is_empty():
            return
        self.cursor.execute("CREATE TEMP TABLE IF NOT EXISTS repeats (seq BIGINT)")
        with registered(self.cursor, "suspects", event_keys.alias("event_key").to_frame()):
            self.cursor.execute(
                f"""
                INSERT INTO repeats SELECT seq FROM {self._events} SEMI JOIN suspects USING (event_key)
                QUALIFY row_number() OVER (PARTITION BY event_key ORDER BY seq) > 1
                """
            )
        self._has_repeats = True

    def exposures(self, arms: pl.DataFrame, bucket: Bucket) -> pl.DataFrame:
        """Exposures of visitors in `bucket` to `arms` (see `rules.arms_of`), with the visitor's segments."""
        segments = ", ".join(f"e.{name}" for name in SEGMENT_COLUMNS)
        with registered(self.cursor, "arms", arms):
            return fetch_frame(
                self.cursor,
                f"""
                SELECT a.experiment, a.variant, e.visitor_key, e.occurred_at, e.seq,
                  {"e.is_bot" if self.skip_bots else "false"} AS is_bot, {segments}
                FROM {self.of_type("exposure")} e JOIN arms a USING (experiment_id, variant_id)
                WHERE e.received_at BETWEEN a.received_from AND a.received_until
                  AND {bucket.holds("e.visitor_key")}
                """,
            )

    def of_type(self, kind: str, *, related: str | None = None) -> str:
        """A subquery of events of a type: each once, with the visitor it is about, of visitors to read.

        With `related` it has those of other visitors, too, that this condition holds for.
        """
        events = f"(SELECT * FROM {self._events} e WHERE e.type = '{kind}')"
        if kind == "conversion" and self._has_identities:
            events = f"""(
              SELECT e.* REPLACE (coalesce(i.visitor_key, e.visitor_key) AS visitor_key)
              FROM {events} e LEFT JOIN identities i ON {_USER_ONLY} = i.user_key
            )"""
        if not self.is_whole:
            touched = "visitor_key IN (SELECT visitor_key FROM touched_visitors)"
            wanted = touched if related is None else f"({touched}) IS TRUE OR ({related}) IS TRUE"
            events = f"(SELECT * FROM {events} e WHERE {wanted})"
        if self._has_repeats:
            # Put so, the few repeats are what is hashed; an anti join may hash the many events instead.
            events = f"(SELECT * FROM {events} e WHERE (seq IN (SELECT seq FROM repeats)) IS NOT TRUE)"
        return events

    def _find_identities(self) -> bool:
        self.cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE identities AS
            SELECT user_key, arg_min(visitor_key, seq) AS visitor_key FROM {self._events}
            WHERE visitor_id IS NOT NULL
              AND user_key IN (SELECT user_key FROM {self._events} WHERE visitor_id IS NULL)
            GROUP BY user_key
            """
        )
        return bool(self.cursor.execute("SELECT 1 FROM identities LIMIT 1").fetchall())


def newest_seq(warehouse: Warehouse, project_id: str) -> int | None:
    """The number of the project's newest event; None while it has none."""
    with warehouse.cursor() as cursor:
        if not has_table(cursor, project_id):
            return None
        newest = cursor.execute(f'SELECT max(seq) FROM "{table_name(project_id)}"').fetchall()[0][0]
    return None if newest is None else int(newest)
