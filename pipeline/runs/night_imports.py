"""Imports of a night: those that it brings, by what the mornings before it brought."""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Final

from engine.time_zones import zone
from pipeline.store.catalog.runs.run_record import Run

# No night waits for its imports any longer.
_NOON: Final = 12
# An origin is awaited that was imported in the last morning, or in two of the last seven.
REMEMBERED: Final = timedelta(days=7)
_MORNINGS_OF_A_HABIT: Final = 2
# A file's name often has its day.
_DAY_IN_A_NAME: Final = re.compile(r"\d{4}\D?\d{2}\D?\d{2}|\d{6,}")


def morning_of(moment: datetime, timezone: str) -> date | None:
    """Return the local day in whose morning a moment is; None for one after noon."""
    local = moment.astimezone(zone(timezone))
    return local.date() if local.hour < _NOON else None


def awaits_imports(imports: Iterable[Run], day: date, timezone: str) -> bool:
    """Tell whether imports of the night that began a day are still to come, or to end.

    `imports` are the runs since REMEMBERED before it, and those that are under way.
    """
    mornings: dict[str, set[date]] = defaultdict(set)
    for run in imports:
        if run.ended_at is None:
            return True
        morning = morning_of(run.ended_at, timezone)
        if run.status == "done" and morning is not None:
            mornings[_origin(run)].add(morning)
    return any(day not in found and _is_awaited(found, day) for found in mornings.values())


def _is_awaited(mornings: set[date], day: date) -> bool:
    before = {one for one in mornings if day - REMEMBERED <= one < day}
    return day - timedelta(days=1) in before or len(before) >= _MORNINGS_OF_A_HABIT


def _origin(run: Run) -> str:
    """Name the source or the file of an import, without the day in its name."""
    asked = run.parameters
    name = asked.get("source") or asked.get("names") or asked.get("options", {}).get("file_name", "")
    return _DAY_IN_A_NAME.sub("#", str(name))
