"""Ids of a person: those of all visitors and users that count as the same person as a visitor or a user."""

from typing import Final, NamedTuple

import polars as pl

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.identities import Identities

# Links count here whenever they were received.
_EVER: Final = 2**62


class PersonIds(NamedTuple):
    """Keys (UInt64) of the visitor ids and of the user ids of a person, each once."""

    visitor_keys: pl.Series
    user_keys: pl.Series

    @property
    def all_keys(self) -> pl.Series:
        """The keys of both kinds, each once: an id may be of both."""
        return pl.concat([self.visitor_keys, self.user_keys]).unique()


def find_person(cursor: Cursor, project_id: str, key: int, *, is_user: bool, until: int) -> PersonIds:
    """Find the person who has the visitor id, or the user id, with a key, by the links up to `until`.

    The project's links are kept (`identity_links`). Those that do not count in results, as of a placeholder
    for users who are not known, join no ids here, either.
    """
    visitors: set[int] = set() if is_user else {key}
    users: set[int] = {key} if is_user else set()
    identities = Identities(cursor, project_id, until=until, received_until=_EVER)
    if identities.exist:
        identities.join_near(f"SELECT {key:d}::UBIGINT AS key", until)
        table, column = ("user_persons", "user_key") if is_user else ("visitor_persons", "visitor_key")
        found = _column(cursor, f"SELECT person_key FROM {table} WHERE {column} = ?", key)
        # The first visitor of a person has no row: its key is that of the person.
        for person in found or set(visitors):
            visitors |= {person, *_column(cursor, _of_person("visitor"), person)}
            users |= {*_column(cursor, _of_person("user"), person)}
    return PersonIds(_keys(visitors), _keys(users))


def _of_person(kind: str) -> str:
    return f"SELECT {kind}_key FROM {kind}_persons WHERE person_key = ?"


def _column(cursor: Cursor, query: str, key: int) -> set[int]:
    return {value for (value,) in cursor.execute(query, [key]).fetchall()}


def _keys(keys: set[int]) -> pl.Series:
    return pl.Series("key", sorted(keys), pl.UInt64)
