"""Which result tables are published: what they cover, and by which rules they were counted.

Up to which local day each time zone's nightly rollup was done.
"""

from datetime import date
from typing import Any, Final, NamedTuple

from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.visitors import TABLES, result_table

_ROLLUPS: Final = "published_rollups"
_NIGHTS: Final = "nightly_rollups"


class Published(NamedTuple):
    """What is known of an experiment's result tables.

    They hold every event numbered up to `covered_seq`, and were brought up to date at `as_of`
    (microseconds). `variants` and `goals` are the ids behind the positions that the tables speak of;
    `dimensions` are those in the aggregates. A final one is never counted anew.
    """

    experiment_id: str
    fingerprint: str
    rules: str
    covered_seq: int
    as_of: int
    last_exposed_at: int | None
    variants: tuple[str, ...]
    goals: tuple[str, ...]
    dimensions: tuple[str, ...]
    is_final: bool


def create_table(cursor: Cursor) -> None:
    """Make the table unless it is there."""
    cursor.execute(
        f"""
        CREATE TABLE IF NOT EXISTS {_ROLLUPS} (
          experiment_id VARCHAR, fingerprint VARCHAR, rules VARCHAR, covered_seq BIGINT, as_of BIGINT,
          last_exposed_at BIGINT, variants VARCHAR[], goals VARCHAR[], dimensions VARCHAR[], is_final BOOLEAN
        )
        """
    )


def find(cursor: Cursor, experiment_id: str) -> Published | None:
    """What is published of an experiment; None if nothing is."""
    rows = cursor.execute(f"SELECT * FROM {_ROLLUPS} WHERE experiment_id = ?", [experiment_id]).fetchall()
    if not rows:
        return None
    facts: list[Any] = [tuple(fact) if isinstance(fact, list) else fact for fact in rows[0]]
    return Published(*facts)


def published_experiments(warehouse: Warehouse) -> list[str]:
    """The id of every experiment that has results."""
    with warehouse.cursor() as cursor:
        return [one for (one,) in cursor.execute(f"SELECT experiment_id FROM {_ROLLUPS}").fetchall()]


def publish(cursor: Cursor, published: Published) -> None:
    """Replace what was said of the experiment: part of the transaction that replaces its tables."""
    row = [list(fact) if isinstance(fact, tuple) else fact for fact in published]
    marks = ", ".join("?" * len(row))
    cursor.execute(f"DELETE FROM {_ROLLUPS} WHERE experiment_id = ?", [published.experiment_id])
    cursor.execute(f"INSERT INTO {_ROLLUPS} VALUES ({marks})", row)


def withdraw(cursor: Cursor, experiment_id: str) -> None:
    """Remove an experiment's results."""
    cursor.execute(f"DELETE FROM {_ROLLUPS} WHERE experiment_id = ?", [experiment_id])
    for kind in TABLES:
        cursor.execute(f"DROP TABLE IF EXISTS {result_table(kind, experiment_id)}")


def last_night(cursor: Cursor, timezone: str) -> date | None:
    """The day that had begun when it was last done; None if it never was."""
    _create_nights_table(cursor)
    rows = cursor.execute(f"SELECT max(day) FROM {_NIGHTS} WHERE timezone = ?", [timezone]).fetchall()
    day: date | None = rows[0][0]
    return day


def record_night(cursor: Cursor, timezone: str, day: date) -> None:
    """Keep in mind that it is done for `day`."""
    _create_nights_table(cursor)
    cursor.execute(f"DELETE FROM {_NIGHTS} WHERE timezone = ?", [timezone])
    cursor.execute(f"INSERT INTO {_NIGHTS} VALUES (?, ?)", [timezone, day])


def _create_nights_table(cursor: Cursor) -> None:
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {_NIGHTS} (timezone VARCHAR, day DATE)")
