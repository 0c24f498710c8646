"""Up to which local day each time zone's nightly rollup was done."""

from datetime import date
from typing import Final

from pipeline.store.frames import Cursor

_TABLE: Final = "nightly_rollups"


def last_night(cursor: Cursor, timezone: str) -> date | None:
    """The day that had begun when it was last done; None if it never was."""
    _create_table(cursor)
    rows = cursor.execute(f"SELECT max(day) FROM {_TABLE} WHERE timezone = ?", [timezone]).fetchall()
    day: date | None = rows[0][0]
    return day


def record_night(cursor: Cursor, timezone: str, day: date) -> None:
    """Keep in mind that it is done for `day`."""
    _create_table(cursor)
    cursor.execute(f"DELETE FROM {_TABLE} WHERE timezone = ?", [timezone])
    cursor.execute(f"INSERT INTO {_TABLE} VALUES (?, ?)", [timezone, day])


def _create_table(cursor: Cursor) -> None:
    cursor.execute(f"CREATE TABLE IF NOT EXISTS {_TABLE} (timezone VARCHAR, day DATE)")
