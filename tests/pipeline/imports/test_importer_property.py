"""Files in any order, split, overlapping, shuffled and grown: each row counts as often as in one of them."""

from collections import Counter
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.results.report import DayResult, Report
from engine.frames.analyze import analyze_frame
from tests.examples import examples
from tests.pipeline.imports.visitor_files import (
    GOALS,
    Row,
    import_files,
    report_of,
    totals_of,
    write_rows,
)
from tests.pipeline.working_store import a_working_store

# Few values, so that equal rows, visitors with several rows and in several variants are frequent.
ROWS = st.builds(
    Row,
    who=st.sampled_from([f"v{number}" for number in range(8)]),
    arm=st.sampled_from("AB"),
    day=st.integers(1, 4),
    bought=st.integers(0, 1),
    spend=st.sampled_from([0.0, 5.0, 19.99, -5.0]),
)

FIRST = [Row("a", "A", 2, 0, 0.0), Row("b", "B", 2, 1, 3.5)]
# Each file is a list of parts, which are lists of rows: files that share a part overlap.
PARTS = st.lists(st.lists(ROWS, max_size=6), min_size=1, max_size=4)
Files = list[list[Row]]


@st.composite
def files_of_rows(draw: st.DrawFn) -> Files:
    """Draw files of shuffled parts; the first one has both variants."""
    parts = draw(PARTS)
    chosen = draw(st.lists(st.lists(st.sampled_from(range(len(parts))), max_size=4), min_size=1, max_size=4))
    files = [[row for part in one for row in parts[part]] for one in chosen]
    files[0] = FIRST + files[0]
    return [draw(st.permutations(rows)) for rows in files if rows]


def union_of(files: Files) -> list[Row]:
    """Each distinct row as often as in the file that holds it most often."""
    most: Counter[Row] = Counter()
    for rows in files:
        most |= Counter(rows)
    return list(most.elements())


def analyzed(rows: list[Row], *, has_times: bool) -> Report:
    frame = pl.DataFrame(rows, schema=list(Row._fields), orient="row").with_columns(
        at=pl.format("2026-10-0{} 10:00:00", "day")
    )
    timestamp = "at" if has_times else None
    return analyze_frame(frame, variant="arm", control="A", goals=GOALS, visitor="who", timestamp=timestamp)


def days_of(report: Report) -> dict[tuple[str, date, str], DayResult]:
    """Days on which something happened, by goal, day and variant name."""
    return {
        (goal.goal.name, day, arm.variant_name): found
        for goal in report.goals
        for day, results in goal.days
        for arm in goal.variants
        if (found := results[arm.variant_id]) and (found.visitors or found.conversions or found.revenue_cents)
    }


@examples(2, 60, seconds=20)
@given(
    files=files_of_rows(),
    columns=st.sampled_from([{}, {"timestamp": None}]),
    repeats=st.lists(st.integers(0, 3), max_size=2),
)
def test_the_service_counts_the_union_of_all_files(
    files: Files, columns: dict[str, Any], repeats: list[int]
) -> None:
    has_times = not columns
    expected = analyzed(union_of(files), has_times=has_times)
    with TemporaryDirectory() as folder, a_working_store(Path(folder) / "store") as store:
        project = store.add_project()
        paths = [write_rows(Path(folder) / f"{i}.csv", rows) for i, rows in enumerate(files)]
        new = [import_files(store, project, path, **columns).rows for path in paths]
        assert sum(new) == len(union_of(files))
        for number in repeats:
            again = import_files(store, project, paths[number % len(paths)], **columns)
            assert (again.rows, again.known_rows) == (0, len(files[number % len(paths)]))
        served = report_of(store, project)
        assert totals_of(served) == totals_of(expected)
        if has_times:
            assert days_of(served) == days_of(expected)


@examples(2, 30, seconds=20)
@given(files=files_of_rows())
def test_several_files_in_one_command_are_read_as_one(files: Files) -> None:
    rows = [row for one in files for row in one]
    with TemporaryDirectory() as folder, a_working_store(Path(folder) / "store") as store:
        project = store.add_project()
        paths = [write_rows(Path(folder) / f"{i}.csv", one) for i, one in enumerate(files)]
        assert import_files(store, project, *paths).rows == len(rows)
        assert totals_of(report_of(store, project)) == totals_of(analyzed(rows, has_times=True))
        assert import_files(store, project, *reversed(paths)).rows == 0
        assert import_files(store, project, paths[0]).rows == 0
