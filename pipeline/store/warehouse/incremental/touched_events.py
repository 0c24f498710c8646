"""Events that the count of touched visitors depends on, copied once into a temporary table.

A rollup after few new events then reads the copy, whose size follows from the new events, instead of the
table of all events.
"""

from typing import Final

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.events import COUNTED_COLUMNS, IS_TRUSTED

_ID_COLUMNS: Final = "seq, event_key, received_at, sender, not_counted"


class TouchedEvents:
    """Copies of events in the temporary `table`, which is added to by keys.

    The table `same_ids` has the columns that repeats are told by, of these and of all other events with
    their ids, whatever their visitor.
    """

    table: Final = "touched_events"
    same_ids: Final = "touched_same_ids"

    def __init__(self, cursor: Cursor, events: str, *, after: int) -> None:
        """Copy the events numbered above `after` of the subquery `events`."""
        self._cursor = cursor
        self._events = events
        self._after = after
        # Row groups of older events are skipped by the bounds of their numbers.
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {self.table} AS "
            f"SELECT {COUNTED_COLUMNS} FROM {events} e WHERE seq > {after:d}"
        )

    def changed(self) -> str:
        """Build the subquery of the new events, and of older ones that these may outrank, which are copied.

        A server's event outranks those of browsers with its id, and those with its transaction. An order
        outranked by its id gives way to the next one of the same transaction, so that those change too.
        """
        is_new = f"e.seq > {self._after:d}"
        outranking = f"FROM {self.table} e WHERE {is_new} AND {IS_TRUSTED}"
        if not self._cursor.execute(f"SELECT 1 {outranking} LIMIT 1").fetchall():
            return f"(SELECT * FROM {self.table} e WHERE {is_new})"
        self._cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE outranking AS SELECT DISTINCT event_key {outranking}"
        )
        self.add_by("event_key", "FROM outranking")
        is_outranked = f"NOT {IS_TRUSTED} AND e.event_key IN (FROM outranking)"
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE outranking_transactions AS
            SELECT DISTINCT transaction_key FROM {self.table} e
            WHERE transaction_key IS NOT NULL AND (({is_new} AND {IS_TRUSTED}) OR ({is_outranked}))
            """
        )
        self.add_by("transaction_key", "FROM outranking_transactions")
        is_behind = f"NOT {IS_TRUSTED} AND e.transaction_key IN (FROM outranking_transactions)"
        return f"(SELECT * FROM {self.table} e WHERE {is_new} OR ({is_outranked}) OR ({is_behind}) IS TRUE)"

    def add_visitors(self, keys: str, *, most: int) -> bool:
        """Copy the events with a visitor key in the table `keys`; False where there are more than `most`."""
        found = self._find("visitor_key", f"SELECT visitor_key FROM {keys}")
        if found > most:
            return False
        self._copy(found)
        return True

    def add_related(self) -> None:
        """Copy events with a transaction of those that are copied, and find those with the id of any copy."""
        self.add_by(
            "transaction_key", f"SELECT transaction_key FROM {self.table} WHERE transaction_key IS NOT NULL"
        )
        found = self._find("event_key", f"SELECT event_key FROM {self.table}")
        others = (
            f"FROM {self._events} WHERE seq IN (FROM found_events)"
            if found
            else f"FROM {self.table} WHERE false"
        )
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {self.same_ids} AS
            SELECT {_ID_COLUMNS} FROM {self.table} UNION ALL SELECT {_ID_COLUMNS} {others}
            """
        )

    def add_by(self, column: str, keys: str) -> None:
        """Copy the events whose key in `column` is one of the query `keys`, unless they are copied."""
        self._copy(self._find(column, keys))

    def _find(self, column: str, keys: str) -> int:
        """List the numbers of these events in a temporary table; return how many are not copied yet."""
        # The keys are read alone first: to read every column takes ten times as long, for as many rows.
        ((found,),) = self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE found_events AS
            SELECT seq FROM (
              SELECT seq FROM {self._events} e WHERE seq <= {self._after:d} AND {column} IN ({keys})
            ) ANTI JOIN {self.table} USING (seq)
            """
        ).fetchall()
        return int(found)

    def _copy(self, found: int) -> None:
        if found:
            self._cursor.execute(
                f"INSERT INTO {self.table} SELECT {COUNTED_COLUMNS} FROM {self._events} e "
                "WHERE seq IN (FROM found_events)"
            )
