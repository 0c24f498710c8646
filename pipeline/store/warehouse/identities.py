"""Identities: visitor ids joined by user ids, so that the devices of one user count as one person.

An event with a visitor id and a user id links the two. Links of trusted senders come first: where a user has
any, those of browsers do not count, as a public key lets anybody send them. A visitor belongs to the user of
its first link that counts, so a shared device does not join its users. The person's key is that of the
user's first visitor.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame
from pipeline.store.warehouse.events import IS_TRUSTED, has_table, table_name
from pipeline.store.warehouse.incremental.identity_links import links_table

# An id with more visitors is no person's, but a placeholder such as `guest`: it joins none of them.
MAX_VISITORS_OF_USER: Final = 50
_LINK_COLUMNS: Final = (
    "(visitor_key UBIGINT, user_key UBIGINT, is_trusted BOOLEAN, seq BIGINT, is_same_id BOOLEAN)"
)
_TABLES: Final = ("visitor_persons", "user_persons")
_NEXT_USERS: Final = "SELECT DISTINCT user_key FROM identity_links ANTI JOIN linked_users USING (user_key)"
# Added to the sequence numbers of links that come after all others.
BROWSERS_LATER: Final = 2**62


class Persons(NamedTuple):
    """Persons as `Identities` finds them.

    `visitors` has the `visitor_key`, `user_key` and `person_key` of visitors whose key is not the person's,
    `users` the `user_key` and `person_key` of users with a visitor. `exist` as in `Identities`.
    """

    visitors: pl.DataFrame
    users: pl.DataFrame
    exist: bool


class Identities:
    """Persons of visitors and of users, in temporary tables on a cursor.

    Visitors whose key is the person's own have no row, nor have users without a visitor.
    """

    def __init__(self, cursor: Cursor, project_id: str, *, until: int, received_until: int) -> None:
        """Join by the links of events up to number `until`, received up to `received_until` (epoch µs)."""
        self._cursor = cursor
        self._kept = (
            f"(FROM {links_table(project_id)} WHERE seq <= {until:d} AND received_at <= {received_until:d})"
        )
        query = f"SELECT coalesce(max(seq), 0) FROM {self._kept}"
        self._last_link = int(cursor.execute(query).fetchall()[0][0])
        self._is_given = False

    def join_all(self) -> None:
        """Find the persons of all visitors and users."""
        if self.exist:
            self._cursor.execute(
                f"CREATE OR REPLACE TEMP TABLE identity_links AS {_first_links(f'FROM {self._kept}')}"
            )
            self._join(*_TABLES, self._last_link)

    def fetch(self) -> Persons:
        """Return all persons."""
        self.join_all()
        if not self.exist:
            schema = {"visitor_key": pl.UInt64, "user_key": pl.UInt64, "person_key": pl.UInt64}
            none = pl.DataFrame(schema=schema)
            return Persons(none, none.drop("visitor_key"), exist=False)
        visitors, users = (fetch_frame(self._cursor, f"FROM {name}") for name in _TABLES)
        return Persons(visitors, users, exist=True)

    def are_joined(self, *, exist: bool) -> None:
        """Take events for joined already, whatever the links are; where persons `exist`, by `joined`."""
        self._last_link = int(exist)
        self._is_given = True

    def join_near(self, keys: str, covered_seq: int) -> None:
        """Find the persons of visitors and users with a key in the query `keys`, and of all linked with them.

        Links up to `covered_seq` alone may link others than those of now do.
        """
        if self.exist:
            self._find_near(keys, covered_seq)
            self._join(*_TABLES, self._last_link)

    @property
    def exist(self) -> bool:
        """True where some event has both a visitor id and a user id."""
        return self._last_link > 0

    def joined(self, events: str, *, with_visitor_ids: bool = False) -> str:
        """Build the subquery of events with the person's key as `visitor_key`, and their own as `device_key`.

        `with_visitor_ids` where each of the events has one.
        """
        if self._is_given:
            return events
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

    @staticmethod
    def near_keys() -> str:
        """Build the query of all keys that `join_near` found links of."""
        return "FROM linked_visitors UNION FROM linked_users"

    def _find_near(self, keys: str, covered_seq: int) -> None:
        """Find the links of these visitors and users, of theirs, and so on.

        Placeholders, before and now, lead no further: their links do not count.
        """
        run = self._cursor.execute
        run("CREATE OR REPLACE TEMP TABLE identity_links " + _LINK_COLUMNS)
        run("CREATE OR REPLACE TEMP TABLE linked_visitors (visitor_key UBIGINT)")
        run("CREATE OR REPLACE TEMP TABLE linked_users (user_key UBIGINT)")
        run(f"CREATE OR REPLACE TEMP TABLE next_visitors AS SELECT DISTINCT key AS visitor_key FROM ({keys})")
        run("CREATE OR REPLACE TEMP TABLE next_users AS SELECT visitor_key AS user_key FROM next_visitors")
        while run("SELECT 1 FROM next_visitors UNION ALL SELECT 1 FROM next_users LIMIT 1").fetchall():
            found = f"""
                FROM {self._kept} WHERE visitor_key IN (FROM next_visitors)
                UNION FROM {self._kept} WHERE user_key IN (FROM next_users)
            """
            run(f"INSERT INTO identity_links FROM ({_first_links(found)}) EXCEPT FROM identity_links")
            run("INSERT INTO linked_visitors FROM next_visitors")
            run("INSERT INTO linked_users FROM next_users")
            run(f"CREATE OR REPLACE TEMP TABLE next_users AS {_NEXT_USERS}")
            run(f"CREATE OR REPLACE TEMP TABLE next_visitors AS {_next_visitors(covered_seq)}")

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


def _first_links(links: str) -> str:
    """Build the query of the first of the kept events of each link."""
    return f"""
        SELECT visitor_key, user_key, is_trusted, min(seq) AS seq, is_same_id FROM ({links})
        GROUP BY visitor_key, user_key, is_trusted, is_same_id
    """


def _next_visitors(covered_seq: int) -> str:
    """Build the query of visitors of users whose links are all found and count now, or did before."""
    visitors = f"count(DISTINCT visitor_key) FILTER ({{}}) BETWEEN 1 AND {MAX_VISITORS_OF_USER:d}"
    return f"""
        SELECT DISTINCT visitor_key FROM identity_links SEMI JOIN (
          SELECT user_key FROM identity_links SEMI JOIN linked_users USING (user_key)
          GROUP BY user_key
          HAVING {
        " OR ".join(
            visitors.format(condition)
            for condition in (
                "is_trusted",
                "true",
                f"is_trusted AND seq <= {covered_seq:d}",
                f"seq <= {covered_seq:d}",
            )
        )
    }
        ) USING (user_key) ANTI JOIN linked_visitors USING (visitor_key)
    """


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
