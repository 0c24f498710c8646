"""Records of the last nightly count of each project: what the next night continues from."""

from typing import Final, NamedTuple

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.connections.cursors import table_exists

_TABLE: Final = "nightly_counts"


class NightlyCount(NamedTuple):
    """Events up to `checked_seq` were checked, and the visitors of `part` last, of the parts in turn.

    Everything was counted `whole_at` (microseconds since 1970) by `rules`, in JSON of their `version`.
    """

    whole_at: int
    version: int
    rules: str
    checked_seq: int
    part: int


def find(cursor: Cursor, project_id: str) -> NightlyCount | None:
    """Find the record of a project; None where it was never counted whole."""
    if not table_exists(cursor, _TABLE):
        return None
    query = f"SELECT {', '.join(NightlyCount._fields)} FROM {_TABLE} WHERE project_id = ?"
    rows = cursor.execute(query, [project_id]).fetchall()
    return NightlyCount(*rows[0]) if rows else None


def replace(cursor: Cursor, project_id: str, count: NightlyCount) -> None:
    """Replace the record of a project."""
    cursor.execute(
        f"CREATE TABLE IF NOT EXISTS {_TABLE} (project_id VARCHAR, whole_at BIGINT, version INTEGER, "
        "rules VARCHAR, checked_seq BIGINT, part INTEGER)"
    )
    forget(cursor, project_id)
    cursor.execute(f"INSERT INTO {_TABLE} VALUES (?, ?, ?, ?, ?, ?)", [project_id, *count])


def forget(cursor: Cursor, project_id: str) -> None:
    """Remove the record of a project."""
    if table_exists(cursor, _TABLE):
        cursor.execute(f"DELETE FROM {_TABLE} WHERE project_id = ?", [project_id])
