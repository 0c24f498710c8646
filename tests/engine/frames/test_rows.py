"""Rows of a DataFrame are read into whole numbers, or refused with the column's name."""

from typing import Any

import polars as pl
import pytest

from engine.errors import InvalidEvidenceError
from engine.frames.kinds import Converted, Mean, Revenue, Value
from engine.frames.rows import Columns, read_rows

FRAME = pl.DataFrame(
    {
        "variant": ["A", "B", "A"],
        "bought": [1.0, float("nan"), 0.0],
        "spent": [19.99, None, -0.5],
        "plan": ["pro", "", None],
        "day": ["2026-03-01", "2026-03-02T00:00:01", None],
    }
)


def columns(**more: Any) -> Columns:
    return Columns(**{"variant": "variant", "goals": {"bought": Converted()}, **more})


def test_missing_conversions_and_amounts_are_zero() -> None:
    rows = read_rows(FRAME, columns(goals={"bought": Converted(), "spent": Revenue()}))
    assert rows["goal_0"].to_list() == [1, 0, 0]
    assert rows["goal_1"].to_list() == [1999, 0, -50]
    assert rows["visitor"].n_unique() == 3


@pytest.mark.parametrize(("kind", "values"), [(Value(), [1.0, 0.0, 0.0]), (Mean(), [1.0, None, None])])
def test_null_and_nan_add_nothing_and_are_left_out_of_means(kind: Any, values: list[float | None]) -> None:
    frame = FRAME.with_columns(bought=pl.Series([1.0, float("nan"), None]))
    assert read_rows(frame, columns(goals={"bought": kind}))["goal_0"].to_list() == values


def test_empty_text_is_in_no_segment() -> None:
    rows = read_rows(FRAME, columns(segments=("plan",)))
    assert rows["segment_0"].to_list() == ["pro", None, None]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"goals": {"spent": Converted()}}, "'spent' holds other numbers than 0 and 1"),
        ({"goals": {"plan": Revenue()}}, "'plan' holds String; revenue is a number"),
        ({"goals": {"bougth": Converted()}}, "there is no column 'bougth'; did you mean 'bought'"),
        ({"timestamp": "spent"}, "'spent' holds Float64, not times"),
    ],
)
def test_a_column_that_does_not_fit_its_role_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        read_rows(FRAME, columns(**wrong))


def test_cents_beyond_64_bits_are_refused() -> None:
    # Each amount is countable, and 1,025 of them are more than 2^63 cents.
    frame = pl.DataFrame({"variant": ["A"] * 1_025, "revenue": [90_000_000_000_000.0] * 1_025})
    columns = Columns(variant="variant", goals={"revenue": Revenue()})
    with pytest.raises(InvalidEvidenceError, match="'revenue' adds up to more cents than 64 bits"):
        read_rows(frame, columns)
    assert read_rows(frame.head(1_000), columns).height == 1_000


def test_refunds_count_towards_the_limit_of_cents() -> None:
    amounts = [90_000_000_000_000.0, -90_000_000_000_000.0] * 513
    frame = pl.DataFrame({"variant": ["A"] * len(amounts), "revenue": amounts})
    with pytest.raises(InvalidEvidenceError, match="64 bits"):
        read_rows(frame, Columns(variant="variant", goals={"revenue": Revenue()}))
