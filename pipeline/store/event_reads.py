"""Which raw events a rollup reads: each once, of one bucket of visitors at a time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Final, NamedTuple, Self

import polars as pl

from pipeline.store.events import has_table, table_name
from pipeline.store.frames import Cursor, fetch_frame
from pipeline.store.visitors import CUSTOM, DIMENSIONS
from pipeline.store.warehouse import Warehouse

# What a goal can be about: the columns that tell the events of each type apart.
SIGNATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "pageview": ("url",),
    "click": ("selector", "url"),
    "custom_event": ("event_name",),
    "ga4_event": ("event_name",),
    "conversion": ("goal_id", "event_name"),
}
SIGNATURE_COLUMNS: Final = ("type", "url", "selector", "event_name", "goal_id")
# What an event says about the visitor; the day of the week follows from its time.
SEGMENT_COLUMNS: Final = (*(name for name in DIMENSIONS if name != "day_of_week"), CUSTOM)
_KEYS: Final = 2**64
# A conversion without a visitor names only a user.
_USER_ONLY: Final = "CASE WHEN e.visitor_id IS NULL THEN e.user_key END"
# Tracked events carry an amount in the currency's main unit, conversions in hundredths.
_CENTS: Final = {"conversion": "e.revenue_cents"}
_VALUE_CENTS: Final = "TRY_CAST(round(e.value * 100) AS BIGINT)"


class Bucket(NamedTuple):
    """The keys from `low` to `high`, both included."""

    low: int
    high: int


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
        self.until = until
        self._cursor = cursor
        self._events = f'(SELECT * FROM "{table_name(project_id)}" WHERE seq <= {until:d})'
        self._not_bots = "AND NOT e.is_bot" if skip_bots else ""
        self._bot_flag = "e.is_bot" if skip_bots else "false"
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
        # Who identifies takes over conversions that named only the user, so both are touched.
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE touched_visitors AS
            SELECT DISTINCT visitor_key FROM (
              SELECT unnest([e.visitor_key, e.user_key, i.visitor_key]) AS visitor_key
              FROM {self._events} e LEFT JOIN identities i ON {_USER_ONLY} = i.user_key
              WHERE e.seq > {seq:d}
            ) WHERE visitor_key IS NOT NULL
            """
        )
        self._touched = "AND visitor_key IN (SELECT visitor_key FROM touched_visitors)"
        return fetch_frame(self._cursor, "SELECT visitor_key FROM touched_visitors")["visitor_key"]

    def keep_to_all(self) -> None:
        """Read all visitors again."""
        self._touched = ""

    @property
    def is_whole(self) -> bool:
        """Whether these are the events of all visitors."""
        return not self._touched

    def count(self) -> int:
        """How many events there are to read, of every type."""
        return int(
            self._cursor.execute(
                f"SELECT count(*) FROM {self._events} e WHERE true {self._touched}"
            ).fetchall()[0][0]
        )

    def event_keys(self, bucket: Bucket) -> pl.Series:
        """The keys of the ids of events to read, one an event."""
        return self._keys("event_key", f"FROM {self._events} e WHERE true {self._touched}", bucket)

    def transaction_keys(self, bucket: Bucket) -> pl.Series:
        """The keys of the transactions of conversions to read, refunds aside, one a conversion."""
        orders = f"{self._from('conversion')} AND NOT e.is_refund {self._touched}"
        return self._keys("transaction_key", orders, bucket)

    def skip_repeats(self, event_keys: pl.Series) -> None:
        """Of the events with these keys read only the first of each key, whoever they are about."""
        if event_keys.is_empty():
            return
        self._cursor.register("suspects", event_keys.alias("event_key").to_frame().to_arrow())
        self._cursor.execute("CREATE TEMP TABLE IF NOT EXISTS repeats (seq BIGINT)")
        self._cursor.execute(
            f"""
            INSERT INTO repeats SELECT seq FROM {self._events} SEMI JOIN suspects USING (event_key)
            QUALIFY row_number() OVER (PARTITION BY event_key ORDER BY seq) > 1
            """
        )
        self._cursor.unregister("suspects")
        self._has_repeats = True

    def exposures(self, arms: pl.DataFrame, bucket: Bucket) -> pl.DataFrame:
        """Exposures to `arms` (see `rules.arms_of`) by their numbers, with the visitor's segments."""
        self._cursor.register("arms", arms.to_arrow())
        segments = ", ".join(f"e.{name}" for name in SEGMENT_COLUMNS)
        return fetch_frame(
            self._cursor,
            f"""
            SELECT a.experiment, a.variant, e.visitor_key, e.occurred_at, e.seq,
              {self._bot_flag} AS is_bot, {segments}
            {self._from("exposure", "JOIN arms a USING (experiment_id, variant_id)")}
              AND e.received_at BETWEEN a.received_from AND a.received_until
              {self._within(bucket)}
            """,
        )

    def signatures(self, types: list[str], bucket: Bucket) -> pl.DataFrame:
        """What events of those types are about: their distinct SIGNATURE_COLUMNS."""
        queries = [
            f"""
            SELECT DISTINCT '{kind}' AS type, {", ".join(SIGNATURES[kind])}
            {self._from(kind)} {self._not_bots} {self._within(bucket)}
            """
            for kind in types
        ]
        empty = "SELECT " + ", ".join(f"NULL::VARCHAR AS {name}" for name in SIGNATURE_COLUMNS)
        return fetch_frame(self._cursor, " UNION ALL BY NAME ".join([f"({empty} LIMIT 0)", *queries]))

    def hits(self, wanted: pl.DataFrame, bucket: Bucket) -> pl.DataFrame:
        """Events with one of the `wanted` SIGNATURE_COLUMNS, as its number `signature` and their money."""
        self._cursor.register("wanted", wanted.to_arrow())
        kinds = wanted["type"].unique().to_list() or ["conversion"]
        queries = [
            f"""
            SELECT w.signature, e.visitor_key, e.occurred_at, e.received_at, e.seq, e.is_refund,
              {_CENTS.get(kind, _VALUE_CENTS)} AS cents, {kind != "conversion"} AS is_value, e.currency
            {self._from(kind, f"JOIN wanted w ON w.type = '{kind}' AND {_same(SIGNATURES[kind])}")}
              {self._not_bots} {self._within(bucket)}
            """
            for kind in kinds
        ]
        return fetch_frame(self._cursor, " UNION ALL ".join(queries))

    def orders(self, transaction_keys: pl.Series) -> pl.DataFrame:
        """Conversions of those transactions, refunds aside, whoever they are about."""
        suspects = transaction_keys.alias("transaction_key").unique().to_frame()
        self._cursor.register("suspected_orders", suspects.to_arrow())
        if not self.is_whole:
            # Repeats were sought among events of the visitors at hand only; these are of any visitor.
            self.skip_repeats(
                fetch_frame(self._cursor, f"SELECT e.event_key {self._suspected_orders()}")["event_key"]
            )
        return fetch_frame(
            self._cursor,
            f"""
            SELECT e.type, e.url, e.selector, e.event_name, e.goal_id, e.transaction_key, e.seq,
              e.received_at, e.is_refund, e.revenue_cents AS cents, false AS is_value, e.currency
            {self._suspected_orders()} {self._not_bots}
            """,
        )

    def _suspected_orders(self) -> str:
        orders = self._from("conversion", "SEMI JOIN suspected_orders USING (transaction_key)")
        return f"{orders} AND NOT e.is_refund"

    def _keys(self, column: str, source: str, bucket: Bucket) -> pl.Series:
        return fetch_frame(
            self._cursor, f"SELECT {column} {source} AND {column} BETWEEN {bucket.low:d} AND {bucket.high:d}"
        )[column]

    def _from(self, kind: str, join: str = "") -> str:
        """FROM … WHERE of the events of a type, each once and with the visitor it is about."""
        events = self._events
        if kind == "conversion" and self._has_identities:
            events = f"""(SELECT e.* REPLACE (coalesce(i.visitor_key, e.visitor_key) AS visitor_key)
              FROM {events} e LEFT JOIN identities i ON {_USER_ONLY} = i.user_key WHERE e.type = '{kind}')"""
        repeats = "ANTI JOIN repeats USING (seq)" if self._has_repeats else ""
        return f"FROM {events} e {repeats} {join} WHERE e.type = '{kind}'"

    def _within(self, bucket: Bucket) -> str:
        return f"AND e.visitor_key BETWEEN {bucket.low:d} AND {bucket.high:d} {self._touched}"

    def _find_identities(self) -> bool:
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE identities AS
            SELECT user_key, arg_min(visitor_key, seq) AS visitor_key FROM {self._events}
            WHERE visitor_id IS NOT NULL
              AND user_key IN (SELECT user_key FROM {self._events} WHERE visitor_id IS NULL)
            GROUP BY user_key
            """
        )
        return bool(self._cursor.execute("SELECT 1 FROM identities LIMIT 1").fetchall())


def newest_seq(warehouse: Warehouse, project_id: str) -> int | None:
    """The number of the project's newest event; None while it has none."""
    with warehouse.cursor() as cursor:
        if not has_table(cursor, project_id):
            return None
        newest = cursor.execute(f'SELECT max(seq) FROM "{table_name(project_id)}"').fetchall()[0][0]
    return None if newest is None else int(newest)


def _same(columns: tuple[str, ...]) -> str:
    return " AND ".join(f"e.{name} IS NOT DISTINCT FROM w.{name}" for name in columns)
