from itertools import product
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from engine.local_days import EARLIEST, LATEST, epoch_microseconds, local_days
from pipeline.rollup.aggregates import CELL, add_up, negate, sum_visitors
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.rollup.segment_values import as_categories, with_day_of_week
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.cubes import CUBE_BASE
from pipeline.store.warehouse.segment_dimensions import CUSTOM
from tests.examples import examples

VISITOR = st.fixed_dictionaries(
    {
        "experiment": st.integers(0, 2),
        "variant": st.integers(0, 1),
        "first_day": st.integers(20_000, 20_003),
        "country": st.sampled_from([None, "DE", "US"]),
        "custom": st.sampled_from([None, '{"plan":"pro"}', '{"plan":"free","n":"1"}', "broken", "[1]"]),
        "g0_day": st.sampled_from([None, 20_003, 20_005]),
        "g0_cents": st.integers(-(10**12), 10**12),
    }
)


def visitor_rows(drawn: list[dict[str, Any]]) -> pl.DataFrame:
    schema = {
        "experiment": pl.UInt16,
        "variant": pl.UInt8,
        "first_day": pl.Int32,
        "g0_day": pl.Int32,
        "g0_cents": pl.Int64,
    }
    texts = dict.fromkeys((*DIMENSIONS, CUSTOM), pl.String)
    rows = pl.DataFrame(drawn, schema={**texts, **schema}).drop("day_of_week")
    numbered = rows.with_row_index("visitor_key").with_columns(
        g0_at=pl.col("g0_day").cast(pl.Int64), sign=pl.lit(1, pl.Int64)
    )
    return with_day_of_week(as_categories(numbered))


NO_ORDERS = pl.DataFrame(
    schema={
        "experiment": pl.UInt16,
        "visitor_key": pl.UInt32,
        "goal": pl.UInt8,
        "sum": pl.String,
        "from_day": pl.Int32,
        "day": pl.Int32,
        "bucket": pl.Int32,
        "cents": pl.Int64,
        "sign": pl.Int64,
    }
)


def test_cells_at_the_bounds_of_experiments_variants_and_the_calendar_stay_apart() -> None:
    moments = [epoch_microseconds(EARLIEST), epoch_microseconds(LATEST) - 1]
    days = local_days(moments, "Etc/GMT+12").tolist() + local_days(moments, "Etc/GMT-14").tolist()
    cells = list(product([0, 1, 2**16 - 1], [0, 1, 255], days, ["DE", "US"]))
    names = ("experiment", "variant", "first_day", "country")
    drawn = [dict(zip(names, cell, strict=True)) | {"g0_day": 20_003, "g0_cents": 1} for cell in cells]
    codes = SegmentCodes()
    rows = codes.encode(visitor_rows(drawn))
    sums = sum_visitors(rows, NO_ORDERS, 1, codes, codes.large_dimensions())
    by_country = sums.filter(pl.col("dimension") == "country")
    for outcome, goal in (("visitors", None), ("cohort_conversions", 0)):
        found = by_country.filter(pl.col("goal").eq_missing(goal), pl.col(outcome) > 0)
        assert found[outcome].to_list() == [1] * len(cells)
        assert sorted(found.select("experiment", "variant", "day", "value").rows()) == sorted(cells)


@examples(12, 200)
@given(st.lists(VISITOR, max_size=30), st.integers(0, 30))
def test_cells_of_parts_add_up_to_the_whole_and_can_be_taken_away(
    drawn: list[dict[str, Any]], cut: int
) -> None:
    codes = SegmentCodes()
    rows = codes.encode(visitor_rows(drawn))
    nothing = codes.large_dimensions().clear()
    removed = rows[:cut].with_columns(sign=-pl.col("sign"))
    whole, first, rest, difference = (
        sum_visitors(part, NO_ORDERS, 1, codes, nothing)
        for part in (rows, rows[:cut], rows[cut:], pl.concat([rows, removed]))
    )
    assert_frame_equal(add_up([first, rest]), whole, check_row_order=False)
    assert_frame_equal(add_up([whole, negate(first)]), rest, check_row_order=False)
    assert_frame_equal(difference, rest, check_row_order=False)
    of_each = (sum_visitors(part, NO_ORDERS, 1, codes, nothing) for part in rows.partition_by("experiment"))
    assert_frame_equal(add_up(of_each), whole, check_row_order=False)
    everyone = whole.filter(pl.col("dimension") == "")
    assert everyone["visitors"].sum() == len(drawn)
    assert everyone["cohort_squared"].sum() == sum(one["g0_cents"] ** 2 for one in drawn)
    high, low = (int(everyone[f"cohort_cubed_{part}"].sum()) for part in ("high", "low"))
    assert high * CUBE_BASE + low == sum(one["g0_cents"] ** 3 for one in drawn)
    assert whole.select(CELL).is_duplicated().sum() == 0
