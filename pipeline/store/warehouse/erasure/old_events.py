"""Removal of old events on which no open experiment depends."""

from collections.abc import Collection
from typing import Final

from pipeline.store.warehouse import event_digests
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.events import retire_seq, table_name
from pipeline.store.warehouse.identities import Identities
from pipeline.store.warehouse.visitors import result_table

_EVER: Final = 2**62
# A statement holds blocks of each of its tables in memory.
_TABLES_AT_ONCE: Final = 25


def remove_old_events(
    cursor: Cursor, project_id: str, *, before: int, until: int, open_experiments: Collection[str]
) -> int:
    """Remove events that happened and arrived before a time (epoch µs), numbered up to `until`; count them.

    Events of visitors with a row in an open experiment stay, so that each row can be counted again, and so do
    those that decide whether an event that stays counts: repeats of its id, and orders of its transaction.
    `cursor` is in a transaction.
    """
    events = f'"{table_name(project_id)}"'
    _list_spared_keys(cursor, project_id, until, open_experiments)
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE old_events AS
        SELECT seq, event_key, transaction_key FROM {events}
        WHERE greatest(received_at, occurred_at) < {before:d} AND seq <= {until:d}
          AND visitor_key NOT IN (FROM spared_keys)
          AND (user_key IS NULL OR user_key NOT IN (FROM spared_keys))
        """
    )
    # What is spared for one of these may itself give way to others.
    while _spare_related(cursor, events):
        pass
    ((removed, newest),) = cursor.execute("SELECT count(*), coalesce(max(seq), 0) FROM old_events").fetchall()
    if removed:
        retire_seq(cursor, newest)
        event_digests.subtract(cursor, project_id, "SELECT seq FROM old_events")
        cursor.execute(f"DELETE FROM {events} WHERE seq IN (SELECT seq FROM old_events)")
    return int(removed)


def _list_spared_keys(cursor: Cursor, project_id: str, until: int, experiments: Collection[str]) -> None:
    """List the keys of all ids of persons with a row in one of the experiments."""
    run = cursor.execute
    run("CREATE OR REPLACE TEMP TABLE spared_keys (key UBIGINT)")
    rows = [f"SELECT visitor_key FROM {result_table('visitors', one)}" for one in experiments]
    for first in range(0, len(rows), _TABLES_AT_ONCE):
        run(f"INSERT INTO spared_keys {' UNION '.join(rows[first : first + _TABLES_AT_ONCE])}")
    identities = Identities(cursor, project_id, until=until, received_until=_EVER)
    if identities.exist:
        identities.join_all()
        persons = " UNION ".join(
            f"SELECT person_key AS key FROM {kind}_persons WHERE {kind}_key IN (FROM spared_keys)"
            for kind in ("visitor", "user")
        )
        # A row may be of one device where the others were linked after the end of the experiment.
        run(f"CREATE OR REPLACE TEMP TABLE spared_persons AS FROM spared_keys UNION {persons}")
        theirs = " UNION ".join(
            f"SELECT {kind}_key FROM {kind}_persons WHERE person_key IN (FROM spared_persons)"
            for kind in ("visitor", "user")
        )
        run(f"INSERT INTO spared_keys FROM spared_persons UNION {theirs}")


def _spare_related(cursor: Cursor, events: str) -> bool:
    """Spare events with an id or a transaction of one that stays; tell whether there were any."""
    staying = f"(FROM {events} WHERE seq NOT IN (SELECT seq FROM old_events))"
    ((spared,),) = cursor.execute(
        f"""
        DELETE FROM old_events WHERE event_key IN (SELECT event_key FROM {staying})
          OR (transaction_key IN (
            SELECT transaction_key FROM {staying} WHERE transaction_key IS NOT NULL)) IS TRUE
        """
    ).fetchall()
    return bool(spared)
