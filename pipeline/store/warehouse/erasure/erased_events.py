"""Removal of a person's events and rows from the warehouse."""

from collections.abc import Collection
from typing import Final, NamedTuple

import polars as pl

from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import aggregates, visitors
from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.erasure.person_ids import PersonIds
from pipeline.store.warehouse.events import retire_seq, table_name
from pipeline.store.warehouse.incremental.identity_links import links_table
from pipeline.store.warehouse.segment_dimensions import CUSTOM
from pipeline.store.warehouse.visitors import result_table

# An event without a visitor id has the key of its user in the place of the visitor's.
_IS_OF_PERSON: Final = """
    (visitor_id IS NOT NULL AND visitor_key IN (FROM erased_visitors)
      OR user_key IN (FROM erased_users)
      OR visitor_id IS NULL AND visitor_key IN (FROM erased_users)) IS TRUE
"""


class RemovedEvents(NamedTuple):
    """How many events were removed, and the keys of other visitors whose events they decided about."""

    events: int
    related_keys: pl.Series


def find_events(cursor: Cursor, project_id: str, person: PersonIds, *, until: int) -> RemovedEvents:
    """List a person's events up to a number in the temporary table `erased_events`.

    Of events with one id and of orders with one transaction only one counts: where it is the person's,
    another one counts once it is gone, and with it this one's transaction is another.
    """
    events = f'"{table_name(project_id)}"'
    for name, ids in (("erased_visitors", person.visitor_keys), ("erased_users", person.user_keys)):
        with registered(cursor, "keys", ids.alias("key").to_frame()):
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM keys")
    ((found,),) = cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE erased_events AS
        SELECT seq, event_key, transaction_key FROM {events} WHERE seq <= {until:d} AND {_IS_OF_PERSON}
        """
    ).fetchall()
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
    related = fetch_frame(cursor, f"SELECT DISTINCT key FROM ({keys}) WHERE key IS NOT NULL")["key"]
    return RemovedEvents(int(found), related)


def remove_events(cursor: Cursor, project_id: str) -> None:
    """Remove the events that `find_events` has listed, and their links; no number is given again."""
    events = f'"{table_name(project_id)}"'
    ((newest,),) = cursor.execute(f"SELECT coalesce(max(seq), 0) FROM {events}").fetchall()
    retire_seq(cursor, newest)
    cursor.execute(f"DELETE FROM {events} WHERE seq IN (SELECT seq FROM erased_events)")
    cursor.execute(
        f"DELETE FROM {links_table(project_id)} "
        "WHERE visitor_key IN (FROM erased_visitors) OR user_key IN (FROM erased_users)"
    )


def remove_rows(cursor: Cursor, experiment_ids: Collection[str], person: PersonIds) -> list[str]:
    """Remove a person's rows of experiments, whose sums stay; return the ids of those that had any."""
    keys = person.all_keys
    had_rows = []
    for experiment_id in experiment_ids:
        found, _ = visitors.read_of(cursor, [experiment_id], keys)
        if found.height:
            had_rows.append(experiment_id)
            for kind in ("visitors", "orders"):
                visitors.remove(cursor, kind, experiment_id, keys)
    return had_rows


def blank_unused_values(cursor: Cursor, experiment_id: str) -> None:
    """Overwrite the texts of segments that no visitor of an experiment has, in its sums, too.

    Their codes are not given again, so that the codes of rows keep their meaning.
    """
    values, rows = (result_table(kind, experiment_id) for kind in ("segment_values", "visitors"))
    for name in (*DIMENSIONS, CUSTOM):
        # No member of a custom dimension that is a number is a segment.
        cursor.execute(
            f"""
            UPDATE {values} SET value = '{{"erased":' || code || '}}'
            WHERE dimension = '{name}' AND code NOT IN (SELECT {name} FROM {rows} WHERE {name} IS NOT NULL)
            """
        )
    aggregates.replace(cursor, experiment_id, aggregates.read_all(cursor, experiment_id))
