"""Which result tables are published: what they cover, and by which rules they were counted."""

from typing import Final, NamedTuple

import msgspec

from pipeline.store.frames import Cursor
from pipeline.store.visitors import TABLES, result_table

_TABLE: Final = "published_rollups"


class Published(NamedTuple):
    """What is known of an experiment's result tables.

    They hold every event numbered up to `covered_seq`, and were brought up to date at `as_of`
    (microseconds). `dimensions` are those in the aggregates. A `is_final` one is never counted anew.
    """

    experiment_id: str
    fingerprint: str
    rules: str
    covered_seq: int
    as_of: int
    last_exposed_at: int | None
    dimensions: tuple[str, ...]
    is_final: bool


_DIMENSIONS: Final = Published._fields.index("dimensions")


def create_table(cursor: Cursor) -> None:
    """Make the table unless it is there."""
    cursor.execute(
        f"""
        CREATE TABLE IF NOT EXISTS {_TABLE} (
          experiment_id VARCHAR, fingerprint VARCHAR, rules VARCHAR, covered_seq BIGINT, as_of BIGINT,
          last_exposed_at BIGINT, dimensions VARCHAR, is_final BOOLEAN
        )
        """
    )


def find(cursor: Cursor, experiment_id: str) -> Published | None:
    """What is published of an experiment; None if nothing is."""
    rows = cursor.execute(f"SELECT * FROM {_TABLE} WHERE experiment_id = ?", [experiment_id]).fetchall()
    if not rows:
        return None
    published = Published(*rows[0])
    return published._replace(dimensions=tuple(msgspec.json.decode(rows[0][_DIMENSIONS])))


def publish(cursor: Cursor, published: Published) -> None:
    """Replace what was said of the experiment: part of the transaction that replaces its tables."""
    row = [*published]
    row[_DIMENSIONS] = msgspec.json.encode(published.dimensions).decode()
    cursor.execute(f"DELETE FROM {_TABLE} WHERE experiment_id = ?", [published.experiment_id])
    cursor.execute(f"INSERT INTO {_TABLE} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def withdraw(cursor: Cursor, experiment_id: str) -> None:
    """Remove an experiment's results."""
    cursor.execute(f"DELETE FROM {_TABLE} WHERE experiment_id = ?", [experiment_id])
    for kind in TABLES:
        cursor.execute(f"DROP TABLE IF EXISTS {result_table(kind, experiment_id)}")
