"""Ranges of a project's events: buckets of keys, chunks of rows, and the newest number."""

from itertools import pairwise
from typing import Final, NamedTuple

from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import has_table, table_name

_KEYS: Final = 2**64


class Bucket(NamedTuple):
    """Range of keys from `low` to `high`, both included."""

    low: int
    high: int

    def contains(self, column: str) -> str:
        """Build the SQL condition that a key is in the bucket."""
        return f"{column} BETWEEN {self.low:d} AND {self.high:d}"


def buckets(events: int, at_once: int) -> list[Bucket]:
    """Split the keys, which are hashes, so that about `at_once` of `events` fall into each bucket."""
    count = max(1, -(-events // at_once))
    edges = [_KEYS * number // count for number in range(count + 1)]
    return [Bucket(low, following - 1) for low, following in pairwise(edges)]


class Chunk(NamedTuple):
    """Range of rows of a table in the order in which they are stored, `first` and `last` included."""

    first: int
    last: int


def newest_seq(warehouse: Warehouse, project_id: str) -> int | None:
    """Find the sequence number of the project's newest event; None without events."""
    with warehouse.cursor() as cursor:
        if not has_table(cursor, project_id):
            return None
        # A maximum reads every event; this skips row groups that have only lower numbers.
        query = f'SELECT seq FROM "{table_name(project_id)}" ORDER BY seq DESC LIMIT 1'
        newest = cursor.execute(query).fetchall()
    return int(newest[0][0]) if newest else None
