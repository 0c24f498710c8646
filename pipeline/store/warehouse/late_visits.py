"""Late visits: exposures that do not count since the page was seen before the browser script came.

They are counted as they are stored, by experiment and day, so that results need no scan of events. One that a
browser sends again counts twice here: its share is for health checks, and no result has it.
"""

from datetime import date
from typing import Final, NamedTuple

import polars as pl

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.connections.cursors import table_exists

# Of `not_counted` of such an exposure.
LATE: Final = "late"
_TABLE: Final = "late_visits"


class LateVisits(NamedTuple):
    """Late visits of an experiment, and the last day in UTC with one."""

    number: int = 0
    last_day: date | None = None


def add_late_visits(cursor: Cursor, project_id: str, table: pl.DataFrame) -> None:
    """Count the late visits among events that are stored in the transaction of `cursor`."""
    if "not_counted" not in table.columns:
        return
    late = table.filter((pl.col("not_counted") == LATE) & ~pl.col("is_bot"))
    if late.is_empty():
        return
    cursor.execute(
        f"CREATE TABLE IF NOT EXISTS {_TABLE} "
        "(project_id VARCHAR, experiment_id VARCHAR, day DATE, visits BIGINT NOT NULL)"
    )
    day = pl.from_epoch("occurred_at", time_unit="us").dt.date().alias("day")
    for experiment_id, on, visits in late.group_by("experiment_id", day).len().iter_rows():
        changed = cursor.execute(
            f"UPDATE {_TABLE} SET visits = visits + ? WHERE project_id = ? AND experiment_id = ? AND day = ?",
            [visits, project_id, experiment_id, on],
        ).fetchall()
        if changed == [(0,)]:
            cursor.execute(
                f"INSERT INTO {_TABLE} VALUES (?, ?, ?, ?)", [project_id, experiment_id, on, visits]
            )


def read_late_visits(cursor: Cursor, experiment_id: str) -> LateVisits:
    """Read the late visits of an experiment."""
    if not table_exists(cursor, _TABLE):
        return LateVisits()
    query = f"SELECT coalesce(sum(visits), 0)::BIGINT, max(day) FROM {_TABLE} WHERE experiment_id = ?"
    return LateVisits(*cursor.execute(query, [experiment_id]).fetchall()[0])


def forget_late_visits(cursor: Cursor, project_id: str) -> None:
    """Remove the late visits of a project."""
    if table_exists(cursor, _TABLE):
        cursor.execute(f"DELETE FROM {_TABLE} WHERE project_id = ?", [project_id])
