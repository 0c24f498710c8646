"""Links of visitors and users in a table per project, kept up to date with its events.

An event with a visitor id and a user id links the two. Of the events that make a link the first is kept, and
those that were received before the first one of them: which came first, up to any time, follows from these.
"""

from typing import Final

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame, registered
from pipeline.store.warehouse.connections.cursors import table_exists
from pipeline.store.warehouse.events import IS_TRUSTED, table_name

_COLUMNS: Final = (
    "visitor_key UBIGINT, user_key UBIGINT, is_trusted BOOLEAN, is_same_id BOOLEAN, seq BIGINT, "
    "received_at BIGINT"
)
_LINK: Final = "visitor_key, user_key, is_trusted, is_same_id"
# Fewer events without any link are read again by the next update, which costs less than a commit.
_UNCOVERED_EVENTS: Final = 100_000
# Projects with links whose events were removed for their age.
_GONE: Final = "links_without_events"


def links_table(project_id: str) -> str:
    """Quote the name of the table of a project's links."""
    return f'"identity_links_of_{table_name(project_id)}"'


def read(cursor: Cursor, project_id: str) -> pl.DataFrame:
    """Read all links of a project that are kept."""
    return fetch_frame(cursor, f"FROM {links_table(project_id)}")


def update(cursor: Cursor, project_id: str, until: int, *, anew: bool) -> None:
    """Add the links in events numbered up to `until`; all are read `anew`, or those after the last update.

    Links whose events were removed for their age are kept in any case. `cursor` is in a transaction.
    """
    links, events = links_table(project_id), f'"{table_name(project_id)}"'
    covered = _covered_seq(cursor, project_id)
    if anew and not has_gone_events(cursor, project_id):
        covered = 0
    if covered == 0:
        cursor.execute(f"CREATE OR REPLACE TABLE {links} ({_COLUMNS})")
    new = f"(SELECT * FROM {events} WHERE seq > {covered:d} AND seq <= {until:d})"
    explicit = f"""
        SELECT visitor_key, user_key, {IS_TRUSTED} AS is_trusted, false AS is_same_id, seq, received_at
        FROM {new} e WHERE visitor_id IS NOT NULL AND user_key IS NOT NULL
    """
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE former_users AS SELECT DISTINCT user_key FROM {links}")
    found = _add(cursor, links, explicit)
    of_users = f"SELECT user_key FROM {links} WHERE NOT is_same_id"
    found |= _add(cursor, links, _same_ids(new, of_users))
    if covered:
        old = f"(SELECT * FROM {events} WHERE seq <= {covered:d})"
        new_users = f"{of_users} AND seq > {covered:d} AND user_key NOT IN (FROM former_users)"
        if cursor.execute(f"{new_users} LIMIT 1").fetchall():
            found |= _add(cursor, links, _same_ids(old, new_users))
    if found or until - covered > _UNCOVERED_EVENTS:
        _cover(cursor, project_id, until)


def keep_without_events(cursor: Cursor, project_id: str, until: int) -> None:
    """Keep the links up to a number, to which they are complete, also once their events are gone."""
    _cover(cursor, project_id, until)
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {_GONE} (project_id VARCHAR)")
    cursor.execute(f"DELETE FROM {_GONE} WHERE project_id = ?", [project_id])
    cursor.execute(f"INSERT INTO {_GONE} VALUES (?)", [project_id])


def has_gone_events(cursor: Cursor, project_id: str) -> bool:
    """Tell whether links of a project are kept whose events were removed for their age."""
    if not table_exists(cursor, _GONE):
        return False
    return bool(cursor.execute(f"SELECT 1 FROM {_GONE} WHERE project_id = ?", [project_id]).fetchall())


def replace(cursor: Cursor, project_id: str, links: pl.DataFrame) -> None:
    """Replace the links of a project by `links`, which have the columns of its table."""
    table = links_table(project_id)
    cursor.execute(f"CREATE OR REPLACE TABLE {table} ({_COLUMNS})")
    with registered(cursor, "given_links", links):
        cursor.execute(f"INSERT INTO {table} BY NAME FROM given_links")


def forget(cursor: Cursor, project_id: str) -> None:
    """Remove the links of a project."""
    # Not created here, where a run may create them at the same time.
    for table in ("covered_links", _GONE):
        if table_exists(cursor, table):
            cursor.execute(f"DELETE FROM {table} WHERE project_id = ?", [project_id])
    cursor.execute(f"DROP TABLE IF EXISTS {links_table(project_id)}")


def _same_ids(events: str, users: str) -> str:
    """Build the query of links by an id that a server uses for a visitor and for a user.

    A visitor id of a server that equals a user id is that user, whatever browsers link to it.
    """
    return f"""
        SELECT visitor_key, visitor_key AS user_key, true AS is_trusted, true AS is_same_id, seq, received_at
        FROM {events} e WHERE visitor_key IN ({users}) AND visitor_id IS NOT NULL AND {IS_TRUSTED}
    """


def _add(cursor: Cursor, links: str, candidates: str) -> bool:
    """Add the first of the candidates of each link, and those received before it; True if there are any."""
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE new_links AS
        SELECT {_LINK}, min(seq) AS seq, arg_min(received_at, seq) AS received_at,
          min(received_at) AS first_received_at
        FROM ({candidates}) GROUP BY {_LINK}
        """
    )
    if not cursor.execute("SELECT 1 FROM new_links LIMIT 1").fetchall():
        return False
    cursor.execute(
        f"INSERT INTO {links} SELECT * EXCLUDE (first_received_at) "
        f"FROM new_links ANTI JOIN {links} USING ({_LINK})"
    )
    earlier = f"JOIN {links} k USING ({_LINK}) WHERE {{}} < k.received_at"
    if cursor.execute(
        f"SELECT 1 FROM new_links n {earlier.format('n.first_received_at')} LIMIT 1"
    ).fetchall():
        cursor.execute(
            f"INSERT INTO {links} SELECT DISTINCT c.* FROM ({candidates}) c {earlier.format('c.received_at')}"
        )
    return True


def _covered_seq(cursor: Cursor, project_id: str) -> int:
    """Return the number of the newest event whose links are kept; 0 where none are."""
    _create_table(cursor)
    query = "SELECT coalesce(max(covered_seq), 0) FROM covered_links WHERE project_id = ?"
    ((covered,),) = cursor.execute(query, [project_id]).fetchall()
    return int(covered)


def _cover(cursor: Cursor, project_id: str, until: int) -> None:
    _create_table(cursor)
    cursor.execute("DELETE FROM covered_links WHERE project_id = ?", [project_id])
    cursor.execute("INSERT INTO covered_links VALUES (?, ?)", [project_id, until])


def _create_table(cursor: Cursor) -> None:
    cursor.execute("CREATE TABLE IF NOT EXISTS covered_links (project_id VARCHAR, covered_seq BIGINT)")
