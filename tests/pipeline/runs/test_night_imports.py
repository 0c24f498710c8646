"""Imports that a night waits for."""

from datetime import date, datetime
from typing import Any

import pytest

from pipeline.runs.night_imports import awaits_imports
from pipeline.store.catalog.runs.run_record import Run, Status

DAY = date(2026, 3, 10)


def imported(at: str, status: Status = "done", **parameters: Any) -> Run:
    ended_at = datetime.fromisoformat(f"2026-03-{at}+00:00")
    return Run(
        project_id="prj_1",
        kind="import",
        trigger="api",
        status=status,
        parameters=parameters or {"source": "shop"},
        created_at=ended_at,
        ended_at=None if status in {"queued", "running"} else ended_at,
    )


@pytest.mark.parametrize(
    ("before", "is_awaited"),
    [
        ((), False),
        (("09T03:00",), True),
        (("08T03:00",), False),
        (("05T03:00", "08T03:00"), True),
        (("03T03:00", "04T03:00"), True),
        # Longer ago than a week.
        (("02T03:00", "03T03:00"), False),
        # A night has those of an evening already.
        (("08T22:00", "09T22:00"), False),
    ],
)
def test_sources_are_awaited_that_came_the_morning_before_or_on_two_of_seven(
    before: tuple[str, ...], *, is_awaited: bool
) -> None:
    assert awaits_imports(map(imported, before), DAY, "UTC") is is_awaited


@pytest.mark.parametrize(
    ("today", "is_awaited"),
    [
        (imported("10T03:00"), False),
        (imported("10T03:00", "failed"), True),
        (imported("10T03:00", source="stock"), True),
        (imported("09T23:00"), True),
        (imported("10T03:00", "running"), True),
    ],
    ids=["came", "failed", "another came", "came too early", "is under way"],
)
def test_a_source_is_awaited_until_it_has_come_this_morning(today: Run, *, is_awaited: bool) -> None:
    assert awaits_imports([imported("09T03:00"), today], DAY, "UTC") is is_awaited


def test_an_import_that_is_under_way_is_awaited_though_it_is_the_first() -> None:
    assert awaits_imports([imported("10T00:01", "queued")], DAY, "UTC")


def test_mornings_are_those_of_the_projects_zone() -> None:
    # 20:00 in New York.
    assert not awaits_imports([imported("09T01:00")], DAY, "America/New_York")
    assert awaits_imports([imported("09T06:00")], DAY, "America/New_York")


@pytest.mark.parametrize(
    "name", ["orders-2026-03-{:02}.csv", "orders_202603{:02}.csv", "orders 2026.03.{:02}"]
)
def test_files_with_the_day_in_their_names_are_one_origin(name: str) -> None:
    files = [imported(f"{day:02}T03:00", options={"file_name": name.format(day)}) for day in (9, 10)]
    assert not awaits_imports(files, DAY, "UTC")
    assert awaits_imports([*files, imported("09T03:00", names="refunds")], DAY, "UTC")
