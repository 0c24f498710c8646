"""Identities: visitor ids joined by user ids, so that the devices of one user count as one person.

An event with a visitor id and a user id links the two. Links of trusted senders come first: where a user has
any, those of browsers do not count, as a public key lets anybody send them. A visitor belongs to the user of
its first link that counts, so a shared device does not join its users. The person's key is that of the
user's first visitor.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.events import IS_TRUSTED, has_table, table_name

# An id with more visitors is no person's, but a placeholder such as `guest`: it joins none of them.
MAX_VISITORS_OF_USER: Final = 50
# Added to the sequence numbers of links that come after all others.
BROWSERS_LATER: Final = 2**62


class Identities:
    """Persons of visitors and of users, in temporary tables on a cursor.

    Visitors whose key is the person's own have no row, nor have users without a visitor.
    """

    def __init__(self, cursor: Cursor, events: str, *, received_until: int) -> None:
        """Join the ids of the subquery `events` by links received up to `received_until` (epoch µs)."""
        self._cursor = cursor
        self._last_link = self._find_links(events, received_until)
        if self.exist:
            self._join("visitor_persons", "user_persons", self._last_link)

    @property
    def exist(self) -> bool:
        """True where some event has both a visitor id and a user id."""
        return self._last_link > 0

    def joined(self, events: str, *, with_visitor_ids: bool = False) -> str:
        """Build the subquery of events with the person's key as `visitor_key`, and their own as `device_key`.

        `with_visitor_ids` where each of the events has one.
        """
        # A conversion without a visitor id has the key of its user in the place of the visitor's.
        person, users = "v.person_key", ""
        if not with_visitor_ids:
            person = "u.person_key, v.person_key"
            users = "LEFT JOIN user_persons u ON e.visitor_key = u.user_key AND e.visitor_id IS NULL"
        return f"""(
          SELECT e.* REPLACE (coalesce({person}, e.visitor_key) AS visitor_key), e.visitor_key AS device_key
          FROM {events} e LEFT JOIN visitor_persons v ON e.visitor_key = v.visitor_key {users}
        )"""

    def touched_persons(self, new_events: str, covered_seq: int) -> str:
        """Build the query of persons (`visitor_key`) with new events, or with other ids than before."""
        persons = f"SELECT visitor_key FROM {self.joined(new_events)}"
        if self._last_link <= covered_seq:
            return persons
        self._join("former_visitor_persons", "former_user_persons", covered_seq)
        changed = " UNION ".join(
            f"""
            SELECT unnest([coalesce(n.person_key, {key}), coalesce(o.person_key, {key})])
            FROM {table} n FULL JOIN former_{table} o USING ({key})
            WHERE n.person_key IS DISTINCT FROM o.person_key
            """
            for table, key in (("visitor_persons", "visitor_key"), ("user_persons", "user_key"))
        )
        return f"{persons} UNION {changed}"

    @staticmethod
    def keys_of(persons: str) -> str:
        """Build the query of all keys (`visitor_key`) that events of the `persons` of a table may have."""
        theirs = f"person_key IN (SELECT visitor_key FROM {persons})"
        return f"""
            SELECT visitor_key FROM {persons}
            UNION SELECT visitor_key FROM visitor_persons WHERE {theirs}
            UNION SELECT user_key FROM user_persons WHERE {theirs}
        """

    def _find_links(self, events: str, received_until: int) -> int:
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE identity_links AS
            SELECT visitor_key, user_key, {IS_TRUSTED} AS is_trusted, min(seq) AS seq, false AS is_same_id
            FROM {events} e
            WHERE visitor_id IS NOT NULL AND user_key IS NOT NULL AND received_at <= {received_until:d}
            GROUP BY ALL
            """
        )
        # A visitor id of a server that equals a user id is that user, whatever browsers link to it.
        self._cursor.execute(
            f"""
            INSERT INTO identity_links
            SELECT visitor_key, visitor_key, true, min(seq), true FROM {events} e
            WHERE visitor_key IN (SELECT user_key FROM identity_links) AND visitor_id IS NOT NULL
              AND received_at <= {received_until:d} AND {IS_TRUSTED}
            GROUP BY visitor_key
            """
        )
        query = "SELECT coalesce(max(seq), 0) FROM identity_links"
        return int(self._cursor.execute(query).fetchall()[0][0])

    def _join(self, visitor_persons: str, user_persons: str, until: int) -> None:
        """Create the tables of persons from links numbered at most `until`."""
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE counting_links AS
            WITH explicit AS (FROM identity_links WHERE seq <= {until:d} AND NOT is_same_id),
            known AS (
              SELECT visitor_key, user_key, is_trusted, min(2 * seq + is_same_id::INTEGER) AS seq FROM (
                FROM explicit
                UNION ALL FROM identity_links
                WHERE seq <= {until:d} AND is_same_id AND user_key IN (SELECT user_key FROM explicit)
              ) GROUP BY ALL
            ),
            users AS (
              SELECT user_key, bool_or(is_trusted) AS is_trusted FROM known GROUP BY user_key
              HAVING if(bool_or(is_trusted), count_if(is_trusted), count(*)) <= {MAX_VISITORS_OF_USER}
            )
            SELECT k.* FROM known k SEMI JOIN users u USING (user_key, is_trusted)
            """
        )
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {visitor_persons} AS
            WITH owners AS (
              SELECT visitor_key, arg_min(user_key, seq + if(is_trusted, 0, {BROWSERS_LATER})) AS user_key
              FROM counting_links GROUP BY visitor_key
            ),
            firsts AS (
              SELECT user_key, arg_min(visitor_key, seq) AS person_key
              FROM counting_links JOIN owners USING (visitor_key, user_key) GROUP BY user_key
            )
            SELECT visitor_key, user_key, person_key FROM owners JOIN firsts USING (user_key)
            """
        )
        # A user with visitors of other users only is the person of the first of them.
        self._cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {user_persons} AS
            SELECT l.user_key,
              arg_min(p.person_key, l.seq + if(p.user_key = l.user_key, 0, {BROWSERS_LATER})) AS person_key
            FROM counting_links l JOIN {visitor_persons} p USING (visitor_key) GROUP BY l.user_key
            """
        )
        self._cursor.execute(f"DELETE FROM {visitor_persons} WHERE visitor_key = person_key")


class Links(NamedTuple):
    """Links of visitors and users, in the order in which they count: those of trusted senders first.

    `orders` are sequence numbers, of browsers' links plus BROWSERS_LATER.
    """

    visitor_keys: npt.NDArray[np.uint64]
    user_keys: npt.NDArray[np.uint64]
    orders: npt.NDArray[np.int64]


def read_links(warehouse: Warehouse, project_id: str, *, after_seq: int, up_to_seq: int) -> Links:
    """Read the links in events after one sequence number up to another, each pair once per kind of sender.

    Of a user and of a visitor there are at most one more than can count.
    """
    statement = f"""
        WITH links AS (
          SELECT visitor_key, user_key, min(seq) + if({IS_TRUSTED}, 0, {BROWSERS_LATER}) AS place
          FROM "{table_name(project_id)}" e
          WHERE seq > $after AND seq <= $up_to AND visitor_id IS NOT NULL AND user_key IS NOT NULL
          GROUP BY visitor_key, user_key, {IS_TRUSTED}
        )
        SELECT visitor_key, user_key, place FROM links
        QUALIFY row_number() OVER (PARTITION BY user_key, place >= {BROWSERS_LATER} ORDER BY place) <= $most
          AND row_number() OVER (PARTITION BY visitor_key, place >= {BROWSERS_LATER} ORDER BY place) <= $most
        ORDER BY place
    """
    values = {"after": after_seq, "up_to": up_to_seq, "most": MAX_VISITORS_OF_USER + 1}
    with warehouse.cursor() as cursor:
        if not has_table(cursor, project_id):
            return Links(np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64))
        columns = cursor.execute(statement, values).fetchnumpy()
    return Links(
        np.asarray(columns["visitor_key"], np.uint64),
        np.asarray(columns["user_key"], np.uint64),
        np.asarray(columns["place"], np.int64),
    )
