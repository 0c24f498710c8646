"""Events that the count of touched visitors depends on, copied once into a temporary table.

A rollup after few new events then reads the copy, whose size follows from the new events, instead of the
table of all events.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.events import COUNTED_COLUMNS, IS_TRUSTED, counted_columns
from pipeline.store.warehouse.incremental.event_keys import find_seqs
from pipeline.store.warehouse.incremental.key_runs import KeyRun

# An event without a visitor id has the key of its user in the place of the visitor's. So it has one where the
# two differ: the texts of the ids take a fifth of the time of all columns to read.
_BY_KEYS: Final = counted_columns("e.visitor_key IS DISTINCT FROM e.user_key")
_ID_COLUMNS: Final = "seq, event_key, received_at, sender, not_counted"


class TouchedEvents:
    """Copies of events in the temporary `table`, which is added to by keys.

    The table `same_ids` has the columns that repeats are told by, of these and of all other events with
    their ids, whatever their visitor.
    """

    table: Final = "touched_events"
    same_ids: Final = "touched_same_ids"

    def __init__(self, cursor: Cursor, events: str, *, after: int, runs: Sequence[KeyRun] = ()) -> None:
        """Copy the events numbered above `after` of the subquery `events`; older ones are found in `runs`."""
        self._cursor = cursor
        self._events = events
        self._after = after
        self._runs = runs
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
        self._copy(found, "visitor_key")
        return True

    def add_related(self) -> None:
        """Copy events with a transaction of those that are copied, and find those with the id of any copy."""
        self.add_by(
            "transaction_key", f"SELECT transaction_key FROM {self.table} WHERE transaction_key IS NOT NULL"
        )
        found = self._find("event_key", f"SELECT event_key FROM {self.table}")
        others = self._found("event_key") if found else f"FROM {self.table} WHERE false"
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {self.same_ids} AS
            SELECT {_ID_COLUMNS} FROM {self.table} UNION ALL SELECT {_ID_COLUMNS} {others}
            """
        )

    def add_by(self, column: str, keys: str) -> None:
        """Copy the events whose key in `column` is one of the query `keys`, unless they are copied."""
        self._copy(self._find(column, keys), column)

    def _find(self, column: str, keys: str) -> int:
        """List the numbers of these events in a temporary table; return how many are not copied yet.

        Those of a few others may be among them, see `_found`.
        """
        self._cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE sought_event_keys AS SELECT DISTINCT * FROM ({keys}) k(key)"
        )
        covered = self._runs[-1].until if self._runs else 0
        sought = (
            fetch_frame(self._cursor, "FROM sought_event_keys")["key"]
            if covered
            else pl.Series(dtype=pl.UInt64)
        )
        newer = f"WHERE seq > {covered:d} AND seq <= {self._after:d} AND {column} IN (FROM sought_event_keys)"
        with registered(self._cursor, "in_files", find_seqs(self._runs, column, sought).to_frame()):
            # The keys are read alone first: to read every column takes ten times as long, for as many rows.
            ((found,),) = self._cursor.execute(
                f"""
                CREATE OR REPLACE TEMP TABLE found_events AS
                SELECT seq FROM (
                  FROM in_files WHERE seq <= {self._after:d}
                  {f"UNION ALL SELECT seq FROM {self._events} e {newer}" if covered < self._after else ""}
                ) ANTI JOIN {self.table} USING (seq)
                """
            ).fetchall()
        return int(found)

    def _found(self, column: str) -> str:
        """Build the clause of the events that were found, of which whole keys are compared here."""
        return (
            f"FROM {self._events} e WHERE seq IN (FROM found_events) AND {column} IN (FROM sought_event_keys)"
        )

    def _copy(self, found: int, column: str) -> None:
        if not found:
            return
        self._cursor.execute(f"INSERT INTO {self.table} SELECT {_BY_KEYS} {self._found(column)}")
        alike = f"FROM {self.table} WHERE visitor_key = user_key AND seq IN (FROM found_events)"
        if self._cursor.execute(f"SELECT 1 {alike} LIMIT 1").fetchall():
            self._cursor.execute(
                f"""
                UPDATE {self.table} SET visitor_id = '' WHERE seq IN (
                  SELECT seq FROM {self._events} WHERE seq IN (SELECT seq {alike}) AND visitor_id IS NOT NULL)
                """
            )
