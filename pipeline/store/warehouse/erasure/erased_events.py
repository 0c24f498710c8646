"""Removal of a person's events and links from the warehouse."""

from collections.abc import Iterable
from typing import Final

import polars as pl

from pipeline.store.warehouse import event_digests
from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.connections.cursors import table_exists
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from pipeline.store.warehouse.events import has_table, retire_seq, table_name
from pipeline.store.warehouse.incremental.identity_links import links_table
from pipeline.store.warehouse.visitors import result_table

# So many keys are compared one by one with those of each event, which is quicker than a join.
_FEW_KEYS: Final = 64


def list_events(cursor: Cursor, project_id: str, person: PersonIds, *, until: int) -> int:
    """List a person's events up to a number in the temporary table `erased_events`, and count them."""
    for name, keys in (("erased_visitors", person.visitor_keys), ("erased_users", person.user_keys)):
        with registered(cursor, "given_keys", keys.alias("key").to_frame()):
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM given_keys")
    visitors, users = (person.visitor_keys, "erased_visitors"), (person.user_keys, "erased_users")
    key_of_user = _one_of("visitor_key", *users)
    # The keys alone first, as the texts of ids take several times as long to read.
    near = " OR ".join((_one_of("visitor_key", *visitors), key_of_user, _one_of("user_key", *users)))
    # An event without a visitor id has the key of its user in the place of the visitor's.
    is_of_person = (
        f"(visitor_id IS NOT NULL AND {_one_of('visitor_key', *visitors)} "
        f"OR {_one_of('user_key', *users)} OR visitor_id IS NULL AND {key_of_user}) IS TRUE"
    )
    events = f'"{table_name(project_id)}"'
    ((candidates,),) = cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE near_events AS SELECT seq FROM {events} "
        f"WHERE seq <= {until:d} AND ({near})"
    ).fetchall()
    ((found,),) = cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE erased_events AS SELECT seq, event_key, transaction_key FROM {events}
        WHERE {f"seq IN (FROM near_events) AND {is_of_person}" if candidates else "false"}
        """
    ).fetchall()
    return int(found)


def read_ids(cursor: Cursor, project_id: str) -> tuple[str, ...]:
    """Read the visitor and user ids of `erased_events`."""
    rows = cursor.execute(
        f"""
        SELECT DISTINCT unnest([visitor_id, user_id]) AS id FROM "{table_name(project_id)}"
        WHERE seq IN (SELECT seq FROM erased_events) ORDER BY id
        """
    ).fetchall()
    return tuple(text for (text,) in rows if text is not None)


def find_related(cursor: Cursor, project_id: str, *, until: int) -> pl.Series:
    """Find the keys of other visitors about whose events `erased_events` decided.

    Of events with one id and of orders with one transaction only one counts: where it is the person's,
    another one counts once it is gone, and with it this one's transaction is another.
    """
    events = f'"{table_name(project_id)}"'
    others = f"(FROM {events} e WHERE seq <= {until:d} AND seq NOT IN (SELECT seq FROM erased_events))"
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE related_events AS
        SELECT visitor_key, user_key, transaction_key FROM {others}
        WHERE event_key IN (SELECT event_key FROM erased_events)
          OR transaction_key IN (SELECT transaction_key FROM erased_events WHERE transaction_key IS NOT NULL)
        """
    )
    keys = f"""
        SELECT unnest([visitor_key, user_key]) AS key FROM related_events
        UNION SELECT visitor_key FROM {others} WHERE transaction_key IN (
          SELECT transaction_key FROM related_events WHERE transaction_key IS NOT NULL)
    """
    return fetch_frame(cursor, f"SELECT DISTINCT key FROM ({keys}) WHERE key IS NOT NULL")["key"]


def remove_events(cursor: Cursor, project_id: str) -> None:
    """Remove the events that `list_events` has listed; no number is given again."""
    events = f'"{table_name(project_id)}"'
    ((newest,),) = cursor.execute(f"SELECT coalesce(max(seq), 0) FROM {events}").fetchall()
    retire_seq(cursor, newest)
    event_digests.subtract(cursor, project_id, "SELECT seq FROM erased_events")
    cursor.execute(f"DELETE FROM {events} WHERE seq IN (SELECT seq FROM erased_events)")


def remove_links(cursor: Cursor, project_id: str, person: PersonIds) -> None:
    """Remove the links of a person's visitors and users."""
    cursor.execute(f"DELETE FROM {links_table(project_id)} WHERE {_of_links(person)}")


def count_links(cursor: Cursor, project_id: str, person: PersonIds, *, until: int) -> int:
    """Count the links of a person in events up to a number."""
    query = f"SELECT count(*) FROM {links_table(project_id)} WHERE ({_of_links(person)}) AND seq <= {until:d}"
    return int(cursor.execute(query).fetchall()[0][0])


def list_keys(cursor: Cursor, project_id: str, experiment_ids: Iterable[str]) -> list[tuple[bool, int]]:
    """List the keys of all visitors and users of a project, in its events and the rows of experiments.

    Each is once, with whether it is a user's.
    """
    tables = [
        one
        for one in (result_table("visitors", id_) for id_ in experiment_ids)
        if table_exists(cursor, one.strip('"'))
    ]
    rows = [f"SELECT false AS is_user, visitor_key AS key FROM {one}" for one in tables]
    if has_table(cursor, project_id):
        events = f'FROM "{table_name(project_id)}"'
        rows.append(f"SELECT visitor_id IS NULL AS is_user, visitor_key AS key {events}")
        rows.append(f"SELECT true AS is_user, user_key AS key {events} WHERE user_key IS NOT NULL")
    if not rows:
        return []
    return cursor.execute(f"SELECT DISTINCT is_user, key FROM ({' UNION ALL '.join(rows)})").fetchall()


def _of_links(person: PersonIds) -> str:
    visitors = _one_of("visitor_key", person.visitor_keys, "erased_visitors")
    return f"{visitors} OR {_one_of('user_key', person.user_keys, 'erased_users')}"


def _one_of(column: str, keys: pl.Series, table: str) -> str:
    """Build the SQL condition that a column has one of the keys, which are in a table, too."""
    if len(keys) > _FEW_KEYS:
        return f"{column} IN (FROM {table})"
    return f"{column} IN ({', '.join(map(str, keys)) or 'NULL'})"
