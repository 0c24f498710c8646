"""Which raw events may count for a goal: found once for all visitors, then read a bucket at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from pipeline.store.warehouse.connection import fetch_frame, registered
from pipeline.store.warehouse.event_reader import Bucket, EventReads

_SIGNATURE_COLUMNS: Final = "signature BIGINT, type VARCHAR, {}".format(
    ", ".join(f"{name} VARCHAR" for name in ("url", "selector", "event_name", "goal_id"))
)
# Tracked events carry an amount in the currency's main unit, conversions in hundredths.
_CENTS: Final = {"conversion": "e.revenue_cents"}
_VALUE_CENTS: Final = "TRY_CAST(round(e.value * 100) AS BIGINT)"
# Of visitors who are not read otherwise: orders that may have said first what another says again.
_RELATED: Final = "e.transaction_key IN (SELECT transaction_key FROM suspected_transactions)"


class GoalEvents:
    """The events of `reads` that are of some goal, kept in temporary tables on its cursor."""

    def __init__(self, reads: EventReads, matched_by: Mapping[str, Sequence[str]]) -> None:
        """Look at events of those types, once `reads` skips repeats.

        `matched_by` names, by type, the columns that tell events of the type apart: their signature.
        """
        self._matched_by = matched_by
        self._reads = reads
        self._cursor = reads.cursor
        if not reads.is_whole:
            self._add_related_orders()
        self._events = {
            kind: reads.of_type(kind, related=_RELATED if kind == "conversion" else None)
            for kind in matched_by
        }
        self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE signatures ({_SIGNATURE_COLUMNS})")
        self._cursor.execute("CREATE OR REPLACE TEMP TABLE wanted (signature BIGINT, rule UINTEGER)")

    def signatures(self, at_once: int) -> Iterator[pl.DataFrame]:
        """What the events are about: the distinct signatures, numbered as `signature`, in parts."""
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

    def want(self, matched: pl.DataFrame) -> None:
        """Take events of those signatures to count for those rules: `signature`, `rule`."""
        with registered(self._cursor, "matched", matched):
            self._cursor.execute("INSERT INTO wanted SELECT signature, rule FROM matched")

    def collect(self) -> None:
        """Find the events that are wanted, each with every rule it may count for."""
        self._cursor.execute(
            "CREATE OR REPLACE TEMP TABLE wanted_events AS FROM signatures JOIN wanted USING (signature)"
        )
        hits = " UNION ALL ".join(self._hits(kind, events) for kind, events in self._events.items())
        self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE hits AS {hits}")

    def of_visitors(self, bucket: Bucket) -> pl.DataFrame:
        """The hits of visitors in a bucket."""
        return fetch_frame(self._cursor, f"SELECT * FROM hits WHERE {bucket.holds('visitor_key')}")

    def suspected_orders(self) -> pl.DataFrame:
        """The orders, refunds aside, whose transaction was reported more than once for a rule."""
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
              e.transaction_key
            FROM {events} e JOIN wanted_events w ON w.type = '{kind}' AND {same} {self._where()}
        """

    def _where(self) -> str:
        return "WHERE NOT e.is_bot" if self._reads.skip_bots else ""

    def _add_related_orders(self) -> None:
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE suspected_transactions AS
            SELECT DISTINCT e.transaction_key FROM {self._reads.of_type("conversion")} e
            WHERE e.transaction_key IS NOT NULL
            """
        )
        # Repeats were sought among the events of visitors to read only; these orders are of any visitor.
        orders = self._reads.of_type("conversion", related=_RELATED)
        keys = fetch_frame(self._cursor, f"SELECT e.event_key FROM {orders} e WHERE {_RELATED}")["event_key"]
        self._reads.skip_repeats(keys)
