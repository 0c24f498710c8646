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
    # Each time has a condition of its own, by which row groups of later events are skipped.
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE old_events AS
        SELECT seq, event_key, transaction_key, visitor_key, user_key FROM {events}
        WHERE received_at < {before:d} AND occurred_at < {before:d} AND seq <= {until:d}
        """
    )
    _list_spared_keys(cursor, project_id, until, open_experiments)
    cursor.execute(
        "DELETE FROM old_events "
        "WHERE visitor_key IN (FROM spared_keys) OR (user_key IN (FROM spared_keys)) IS TRUE"
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
    """List the keys of all ids in `old_events` of persons with a row in one of the experiments."""
    run = cursor.execute
    run("CREATE OR REPLACE TEMP TABLE spared_keys (key UBIGINT)")
    identities = Identities(cursor, project_id, until=until, received_until=_EVER)
    of_old = "SELECT unnest([visitor_key, user_key]) FROM old_events"
    # A row has the key of its person, which may be in no old event where the person has several.
    among = "" if identities.exist else f" WHERE visitor_key IN ({of_old})"
    rows = [f"SELECT visitor_key FROM {result_table('visitors', one)}" for one in experiments]
    for first in range(0, len(rows), _TABLES_AT_ONCE):
        group = " UNION ALL ".join(rows[first : first + _TABLES_AT_ONCE])
        run(f"INSERT INTO spared_keys SELECT DISTINCT visitor_key FROM ({group}){among}")
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
    # The few old keys are looked for in all events, as a table of all keys would take far longer to make.
    shared = {
        key: f"""
            SELECT {key} FROM {events} WHERE {key} IN (SELECT {key} FROM old_events WHERE {key} IS NOT NULL)
              AND seq NOT IN (SELECT seq FROM old_events)
        """
        for key in ("event_key", "transaction_key")
    }
    conditions = " OR ".join(f"({key} IN ({keys})) IS TRUE" for key, keys in shared.items())
    ((spared,),) = cursor.execute(f"DELETE FROM old_events WHERE {conditions}").fetchall()
    return bool(spared)
