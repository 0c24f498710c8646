"""Interactions of experiments with others, as the last night found them."""

from collections.abc import Mapping
from typing import Final

from pipeline.store.warehouse.connection import Cursor

_KEPT: Final = "kept_interactions"


def create_table(cursor: Cursor) -> None:
    """Create the table unless it exists."""
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {_KEPT} (experiment_id VARCHAR, content VARCHAR)")


def replace(cursor: Cursor, contents: Mapping[str, str]) -> None:
    """Replace what is kept of experiments, by id."""
    for experiment_id, content in contents.items():
        remove(cursor, experiment_id)
        cursor.execute(f"INSERT INTO {_KEPT} VALUES (?, ?)", [experiment_id, content])


def find(cursor: Cursor, experiment_id: str) -> str | None:
    """Find what is kept of an experiment; None without a night."""
    rows = cursor.execute(f"SELECT content FROM {_KEPT} WHERE experiment_id = ?", [experiment_id]).fetchall()
    return rows[0][0] if rows else None


def remove(cursor: Cursor, experiment_id: str) -> None:
    """Remove what is kept of an experiment."""
    cursor.execute(f"DELETE FROM {_KEPT} WHERE experiment_id = ?", [experiment_id])
