"""Which result tables are published: what they cover, and by which rules they were counted."""

from typing import Any, Final, NamedTuple

from pipeline.store.frames import Cursor
from pipeline.store.visitors import TABLES, result_table
from pipeline.store.warehouse import Warehouse

_TABLE: Final = "published_rollups"


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
        CREATE TABLE IF NOT EXISTS {_TABLE} (
          experiment_id VARCHAR, fingerprint VARCHAR, rules VARCHAR, covered_seq BIGINT, as_of BIGINT,
          last_exposed_at BIGINT, variants VARCHAR[], goals VARCHAR[], dimensions VARCHAR[], is_final BOOLEAN
        )
        """
    )


def find(cursor: Cursor, experiment_id: str) -> Published | None:
    """What is published of an experiment; None if nothing is."""
    rows = cursor.execute(f"SELECT * FROM {_TABLE} WHERE experiment_id = ?", [experiment_id]).fetchall()
    if not rows:
        return None
    facts: list[Any] = [tuple(fact) if isinstance(fact, list) else fact for fact in rows[0]]
    return Published(*facts)


def published_experiments(warehouse: Warehouse) -> list[str]:
    """The id of every experiment that has results."""
    with warehouse.cursor() as cursor:
        return [one for (one,) in cursor.execute(f"SELECT experiment_id FROM {_TABLE}").fetchall()]


def publish(cursor: Cursor, published: Published) -> None:
    """Replace what was said of the experiment: part of the transaction that replaces its tables."""
    row = [list(fact) if isinstance(fact, tuple) else fact for fact in published]
    marks = ", ".join("?" * len(row))
    cursor.execute(f"DELETE FROM {_TABLE} WHERE experiment_id = ?", [published.experiment_id])
    cursor.execute(f"INSERT INTO {_TABLE} VALUES ({marks})", row)


def withdraw(cursor: Cursor, experiment_id: str) -> None:
    """Remove an experiment's results."""
    cursor.execute(f"DELETE FROM {_TABLE} WHERE experiment_id = ?", [experiment_id])
    for kind in TABLES:
        cursor.execute(f"DROP TABLE IF EXISTS {result_table(kind, experiment_id)}")
