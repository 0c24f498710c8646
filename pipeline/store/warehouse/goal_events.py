"""Raw events that may count for a goal: found once, then read a bucket of visitors at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from engine.currencies import MAX_MINOR_UNITS
from pipeline.store.warehouse.connection import fetch_frame, registered
from pipeline.store.warehouse.event_reader import Bucket, EventReader
from pipeline.store.warehouse.events import SENDER_BIT, TRUSTED_BITS

_SIGNATURE_COLUMNS: Final = "signature BIGINT, type VARCHAR, {}".format(
    ", ".join(f"{name} VARCHAR" for name in ("url", "selector", "event_name", "goal_id"))
)
# Conversions have amounts in minor units of the currency. Tracked events have them in units: their value, or
# the attribute that the goal names, where that is a number.
_CENTS: Final = {"conversion": "e.revenue_cents"}
_ATTRIBUTE: Final = "TRY_CAST(json_extract_string(e.custom, w.value_path) AS DOUBLE) * w.minor_units"
_VALUE_CENTS: Final = f"""TRY_CAST(round(
    CASE WHEN w.value_path IS NULL THEN e.value * w.minor_units
      WHEN {_ATTRIBUTE} BETWEEN -{MAX_MINOR_UNITS:d} AND {MAX_MINOR_UNITS:d} THEN {_ATTRIBUTE} END
  ) AS BIGINT)"""
# Orders of any visitor that may share a transaction with an order of the visitors to read.
_RELATED: Final = "e.transaction_key IN (SELECT transaction_key FROM suspected_transactions)"


class GoalEvents:
    """Events of `reader` that match a goal, in temporary tables on its cursor."""

    def __init__(self, reader: EventReader, matched_by: Mapping[str, Sequence[str]]) -> None:
        """Prepare to match events, once `reader` skips repeats.

        `matched_by` names, for each type of event, the columns that goals are compared with: its signature.
        """
        self._matched_by = matched_by
        self._reader = reader
        self._cursor = reader.cursor
        if not reader.is_whole:
            self._add_related_orders()
        self._events = {
            kind: reader.of_type(kind, related=_RELATED if kind == "conversion" else None)
            for kind in matched_by
        }
        self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE signatures ({_SIGNATURE_COLUMNS})")
        self._cursor.execute(
            "CREATE OR REPLACE TEMP TABLE wanted "
            "(signature BIGINT, rule UINTEGER, minor_units BIGINT, value_path VARCHAR)"
        )

    def read_signatures(self, at_once: int) -> Iterator[pl.DataFrame]:
        """Yield the distinct signatures of the events, numbered as `signature`, `at_once` at a time."""
        distinct = " UNION ALL BY NAME ".join(
            f"SELECT DISTINCT '{kind}' AS type, {', '.join(self._matched_by[kind])} FROM {events} e "
            f"{self._where()}"
            for kind, events in self._events.items()
        )
        numbered = f"SELECT row_number() OVER () AS signature, * FROM ({distinct})"
        self._cursor.execute(f"INSERT INTO signatures BY NAME {numbered}")
        last = self._cursor.execute("SELECT count(*) FROM signatures").fetchall()[0][0]
        for start in range(1, last + 1, at_once):
            query = "SELECT * FROM signatures WHERE signature BETWEEN ? AND ?"
            yield fetch_frame(self._cursor, query, [start, start + at_once - 1])

    def select(self, matched: pl.DataFrame) -> None:
        """Select the events of each `signature` in `matched` for its `rule`.

        A tracked event has `minor_units` times its value, or of the attribute at `value_path` (a JSON
        pointer), where that is not null.
        """
        with registered(self._cursor, "matched", matched):
            self._cursor.execute("INSERT INTO wanted BY NAME SELECT * FROM matched")

    def collect(self) -> None:
        """Collect the selected events, each with every rule it may count for.

        `outranked_at` is the time from which on a browser's event counts no more, because a server or an
        import has reported the same event, or for this rule an order or refund of the same transaction.
        """
        self._cursor.execute(
            "CREATE OR REPLACE TEMP TABLE wanted_events AS FROM signatures JOIN wanted USING (signature)"
        )
        hits = " UNION ALL ".join(self._hits(kind, events) for kind, events in self._events.items())
        self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE hits AS {hits}")
        self._outrank_transactions()

    def of_visitors(self, bucket: Bucket) -> pl.DataFrame:
        """Read the collected events of visitors in a bucket."""
        return fetch_frame(self._cursor, f"SELECT * FROM hits WHERE {bucket.contains('visitor_key')}")

    def suspected_orders(self) -> pl.DataFrame:
        """Read the orders, without refunds, whose transaction occurs more than once for a rule."""
        return fetch_frame(
            self._cursor,
            """
            SELECT h.* FROM hits h SEMI JOIN (
              SELECT rule, transaction_key FROM hits WHERE transaction_key IS NOT NULL AND NOT is_refund
              GROUP BY ALL HAVING count(*) > 1
            ) USING (rule, transaction_key)
            WHERE NOT h.is_refund
            """,
        )

    def _hits(self, kind: str, events: str) -> str:
        same = " AND ".join(f"e.{name} IS NOT DISTINCT FROM w.{name}" for name in self._matched_by[kind])
        return f"""
            SELECT w.rule, e.visitor_key, e.occurred_at, e.received_at, e.seq, e.is_refund,
              {_CENTS.get(kind, _VALUE_CENTS)} AS cents, {kind != "conversion"} AS is_value, e.currency,
              e.transaction_key, {SENDER_BIT} AS sender,
              {"o.outranked_at" if self._reader.has_outranked else "NULL::BIGINT"} AS outranked_at
            FROM {events} e JOIN wanted_events w ON w.type = '{kind}' AND {same}
            {self._reader.join_outranked()} {self._where()}
        """

    def _outrank_transactions(self) -> None:
        """Rank orders behind a server's order of their transaction, refunds behind its order or refund."""
        is_trusted = f"sender & {TRUSTED_BITS:d} != 0"
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE reported AS
            SELECT rule, transaction_key, min(received_at) FILTER (NOT is_refund) AS ordered_at,
              min(received_at) AS reported_at
            FROM hits WHERE {is_trusted} AND transaction_key IS NOT NULL GROUP BY rule, transaction_key
            """
        )
        self._cursor.execute(
            f"""
            UPDATE hits SET outranked_at =
              least(outranked_at, CASE WHEN is_refund THEN reported_at ELSE ordered_at END)
            FROM reported r
            WHERE NOT {is_trusted} AND r.rule = hits.rule AND r.transaction_key = hits.transaction_key
            """
        )

    def _where(self) -> str:
        return "WHERE NOT e.is_bot" if self._reader.skip_bots else ""

    def _add_related_orders(self) -> None:
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE suspected_transactions AS
            SELECT DISTINCT e.transaction_key FROM {self._reader.of_type("conversion")} e
            WHERE e.transaction_key IS NOT NULL
            """
        )
        # Repeats were found among events of the visitors to read only; these orders are of any visitor.
        orders = self._reader.of_type("conversion", related=_RELATED)
        keys = fetch_frame(self._cursor, f"SELECT e.event_key FROM {orders} e WHERE {_RELATED}")["event_key"]
        self._reader.skip_repeats(keys)
