"""Rows are counted by visitor: once, on the first day, and in one variant."""

from datetime import date

import polars as pl
import pytest

from engine.frames.counts import count
from engine.frames.kinds import Converted, Revenue
from engine.frames.rows import Columns, read_rows

FRAME = pl.DataFrame(
    {
        "visitor": ["a", "a", "b", "c", "c", "d"],
        "variant": ["A", "A", "B", "A", "B", "B"],
        "bought": [0, 1, 1, 1, 1, 0],
        "spent": [0.0, 12.5, 3.0, 9.0, 9.0, 0.0],
        "at": ["2026-03-01", "2026-03-03", "2026-03-02", "2026-03-01", "2026-03-02", "2026-03-03"],
    }
)
GOALS = {"bought": Converted(), "spent": Revenue()}


def test_visitors_of_several_variants_are_excluded_and_counted_apart() -> None:
    rows = read_rows(FRAME, Columns(variant="variant", goals=GOALS, visitor="visitor", timestamp="at"))
    evidence = count(rows, variants=["A", "B"], goals=GOALS, timezone="UTC").evidence
    assert evidence.visitors.tolist() == [1, 2]
    assert evidence.several_variants == 1
    assert evidence.conversions.tolist() == [[1, 1], [1, 1]]
    assert evidence.revenue.total[1].tolist() == [1250.0, 300.0]


def test_visitors_count_on_their_first_day_and_conversions_on_theirs() -> None:
    rows = read_rows(FRAME, Columns(variant="variant", goals=GOALS, visitor="visitor", timestamp="at"))
    daily = count(rows, variants=["A", "B"], goals=GOALS, timezone="UTC").evidence.daily
    assert daily.days == (date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 3))
    assert daily.visitors.tolist() == [[1, 0], [0, 1], [0, 1]]
    assert daily.conversions[:, 0].tolist() == [[0, 0], [0, 1], [1, 0]]
    assert daily.revenue_cents[:, 1].tolist() == [[0, 0], [0, 300], [1250, 0]]


def test_without_times_there_are_no_days() -> None:
    rows = read_rows(FRAME, Columns(variant="variant", goals=GOALS))
    evidence = count(rows, variants=["A", "B"], goals=GOALS, timezone="UTC", is_distinct=True).evidence
    assert evidence.daily.days == ()
    assert evidence.visitors.tolist() == [3, 3]


@pytest.mark.parametrize("timestamp", ["at", None])
def test_where_all_visitors_saw_several_variants_nobody_counts(timestamp: str | None) -> None:
    everyone = pl.concat([FRAME.with_columns(variant=pl.lit(name)) for name in "AB"])
    rows = read_rows(
        everyone, Columns(variant="variant", goals=GOALS, visitor="visitor", timestamp=timestamp)
    )
    evidence = count(rows, variants=["A", "B"], goals=GOALS, timezone="UTC").evidence
    assert (evidence.several_variants, evidence.visitors.tolist(), evidence.daily.days) == (4, [0, 0], ())
