"""Raw events that may count for a goal: matched once by signature, then read in chunks of stored rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from engine.currencies import MAX_MINOR_UNITS
from engine.measures.sums import VALUE_UNIT
from pipeline.store.warehouse.connection import fetch_frame, registered
from pipeline.store.warehouse.event_ranges import Chunk
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.events import SENDER_BIT

_SIGNATURE_COLUMNS: Final = "signature BIGINT, type VARCHAR, {}".format(
    ", ".join(f"{name} VARCHAR" for name in ("url", "selector", "event_name", "goal_id"))
)
# Conversions have amounts in minor units of the currency, and so have custom events that were sent with them.
# Other tracked events have them in units: their value, or the attribute that the goal names, where that is a
# number. Goals that sum up values take these in units of VALUE_UNIT, and within MAX_MINOR_UNITS of them, so
# that their sums do not overflow.
_CENTS: Final = {"conversion": "e.revenue_cents"}
_ATTRIBUTE: Final = "TRY_CAST(json_extract_string(e.custom, w.value_path) AS DOUBLE) * w.minor_units"
_VALUE_CENTS: Final = f"""TRY_CAST(round(
    CASE WHEN w.value_path IS NULL AND w.minor_units <> {VALUE_UNIT:d}
        THEN coalesce(e.revenue_cents, e.value * w.minor_units)
      WHEN w.value_path IS NULL THEN e.value * w.minor_units
      WHEN {_ATTRIBUTE} BETWEEN -{MAX_MINOR_UNITS:d} AND {MAX_MINOR_UNITS:d} THEN {_ATTRIBUTE} END
  ) AS BIGINT)"""


# A number for each value of what a goal counts distinct values of, null where an event has none.
_TEXT: Final = (
    "CASE w.field WHEN 'url' THEN e.url ELSE nullif(json_extract_string(e.custom, w.field), '') END"
)
_FIELD_KEY: Final = f"""CASE WHEN w.field = 'transaction_id' THEN e.transaction_key
    WHEN w.field IS NOT NULL AND {_TEXT} IS NOT NULL THEN hash({_TEXT}) END"""


class GoalEvents:
    """Events of `reader` that match a goal."""

    def __init__(self, reader: EventReader, matched_by: Mapping[str, Sequence[str]]) -> None:
        """Prepare to match events, once `reader` skips repeats.

        `matched_by` names, for each type of event, the columns that goals are compared with: its signature.
        """
        self._matched_by = matched_by
        self._reader = reader
        self._cursor = reader.cursor
        # Whether some goal counts the distinct values of a field.
        self._reads_fields = False
        # The types of the selected events.
        self._wanted: list[str] = []
        self._find_signatures()

    def read_named_goals(self) -> set[str]:
        """Read the ids of the goals that some event names."""
        query = "SELECT DISTINCT goal_id FROM signatures WHERE goal_id IS NOT NULL"
        return {goal_id for (goal_id,) in self._cursor.execute(query).fetchall()}

    def read_signatures(self, at_once: int) -> Iterator[pl.DataFrame]:
        """Yield the distinct signatures of the events, numbered as `signature`, `at_once` at a time."""
        last = self._cursor.execute("SELECT count(*) FROM signatures").fetchall()[0][0]
        for start in range(1, last + 1, at_once):
            query = "SELECT * FROM signatures WHERE signature BETWEEN ? AND ?"
            yield fetch_frame(self._cursor, query, [start, start + at_once - 1])

    def read_transactions(self) -> pl.Series:
        """Read the transaction keys of events, one per event with a transaction."""
        return self._reader.transaction_keys(self._matched_by)

    def select(self, matched: pl.DataFrame, shared_transactions: pl.Series) -> None:
        """Select the events of each `signature` in `matched`, and mark those of the transactions.

        A tracked event has `minor_units` times its value, or of the attribute at `value_path` (a JSON
        pointer), where that is not null; an event is read once for each such amount and `field`, with its
        `match`. `field` is null, or `url`, `transaction_id` or the JSON pointer of an attribute.
        """
        self._reads_fields = matched["field"].null_count() < matched.height
        with registered(self._cursor, "matched", matched):
            self._cursor.execute(
                "CREATE OR REPLACE TEMP TABLE wanted_events AS FROM signatures JOIN matched USING (signature)"
            )
        wanted = self._cursor.execute("SELECT DISTINCT type FROM wanted_events ORDER BY type").fetchall()
        # Without any match, one type tells the columns.
        self._wanted = [kind for (kind,) in wanted] or [*self._matched_by][:1]
        with registered(self._cursor, "shared", shared_transactions.alias("transaction_key").to_frame()):
            self._cursor.execute("CREATE OR REPLACE TEMP TABLE shared_transactions AS FROM shared")

    def read(self, chunk: Chunk | None) -> pl.DataFrame:
        """Read the selected events in a chunk.

        `transaction_key` is null where no other event has the transaction. Where goals count the distinct
        values of a field, `field_key` is a number for the event's, null where it has none.
        """
        hits = " UNION ALL ".join(self._hits(kind, chunk) for kind in self._wanted)
        return fetch_frame(self._cursor, hits)

    def _hits(self, kind: str, chunk: Chunk | None) -> str:
        fields = self._matched_by[kind]
        # A field matches no goal by its absence alone, and plain equality is applied while rows are read.
        equals = "=" if len(fields) == 1 else "IS NOT DISTINCT FROM"
        same = " AND ".join(f"e.{name} {equals} w.{name}" for name in fields)
        field_key = f", {_FIELD_KEY} AS field_key" if self._reads_fields else ""
        is_shared = "e.transaction_key IN (SELECT transaction_key FROM shared_transactions)"
        return f"""
            SELECT w.match, e.visitor_key, e.occurred_at, e.seq, e.is_refund,
              {_CENTS.get(kind, _VALUE_CENTS)} AS cents, {kind != "conversion"} AS is_value, e.currency,
              CASE WHEN {is_shared} THEN e.transaction_key END AS transaction_key, {SENDER_BIT} AS sender
              {field_key}
            FROM {self._of_type(kind, chunk)} e JOIN wanted_events w ON w.type = '{kind}' AND {same}
            WHERE e.received_at <= {self._reader.received_until:d}
        """

    def _of_type(self, kind: str, chunk: Chunk | None = None, *, with_repeats: bool = False) -> str:
        """Build the subquery of events of a type, with the orders of others that share a transaction."""
        events = self._reader.of_type(kind, chunk, with_related=True, with_repeats=with_repeats)
        return f"(SELECT * FROM {events} e WHERE NOT e.is_bot)" if self._reader.skip_bots else events

    def _find_signatures(self) -> None:
        # A signature of repeats alone selects no event, and looking for repeats would take half of the time.
        events = {kind: self._of_type(kind, with_repeats=True) for kind in self._matched_by}
        distinct = " UNION ALL BY NAME ".join(
            f"SELECT DISTINCT '{kind}' AS type, {', '.join(names)} FROM {events[kind]} e"
            for kind, names in self._matched_by.items()
        )
        self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE signatures ({_SIGNATURE_COLUMNS})")
        numbered = f"SELECT row_number() OVER () AS signature, * FROM ({distinct})"
        self._cursor.execute(f"INSERT INTO signatures BY NAME {numbered}")
