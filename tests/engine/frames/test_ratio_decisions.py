"""Decisions on ratios: no status for rare numerators or by one visitor, and one test at every door."""

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from engine.analysis.results.flat_results import flatten
from engine.analysis.results.report import Report
from engine.analysis.results.variant_result import VariantResult
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Ratio, Revenue
from engine.frames.segments import analyze_frame_segments

RATIO = {"ratio": Ratio("y", "x")}
NINE_TO_ONE = {"A": 90, "B": 10}


def visitors(sizes: tuple[int, int], seed: int, *, rate: float) -> pl.DataFrame:
    """Sessions of visitors, of whom few return something, with no difference between variants."""
    rng, n = np.random.default_rng(seed), sum(sizes)
    x = 1 + rng.poisson(1.5, n)
    y = (rng.random(n) < rate) * rng.lognormal(3, 1, n).round(2)
    return pl.DataFrame({"variant": np.repeat(["A", "B"], sizes), "x": x, "y": y})


def judged(frame: Any, **asked: Any) -> tuple[Report, VariantResult]:
    report = analyze_frame(frame, **{"control": "A", "goals": RATIO, **asked})
    return report, report.goals[0].variants[1]


def explained(report: Report) -> str:
    assert report.primary is not None
    return report.primary.decision.explanation


@pytest.mark.parametrize("sizes", [(1_800, 200), (18_000, 2_000)])
def test_a_numerator_that_hardly_any_visitor_has_gives_no_status(sizes: tuple[int, int]) -> None:
    for seed in range(10):
        frame = visitors(sizes, seed, rate=0.005)
        report, variant = judged(frame, weights=NINE_TO_ONE)
        some = (frame["y"] > 0).sum()
        assert some < 136
        assert variant.status == "insufficient_data"
        assert report.primary is not None
        assert report.primary.decision.recommendation == "insufficient_data"
        assert (
            f"'A' and 'B' together have {some} of the 136 visitors with a numerator other than 0 required"
            in explained(report)
        )


def test_a_numerator_of_enough_visitors_has_a_status() -> None:
    frame = visitors((18_000, 2_000), 1, rate=0.03)
    _, variant = judged(frame, weights=NINE_TO_ONE)
    assert variant.status == "inconclusive"
    assert variant.improvement_interval is not None


def with_robot(frame: pl.DataFrame) -> pl.DataFrame:
    """Give one visitor of B 10,000 of some 18,000 views in all, and no click."""
    robot = (pl.col("variant") == "B") & (pl.int_range(pl.len()).over("variant") == 0)
    return frame.with_columns(
        pl.when(robot).then(10_000).otherwise("x").alias("x"),
        pl.when(robot).then(0).otherwise("y").alias("y"),
    )


def clicks(seed: int, factor: float = 1.0) -> pl.DataFrame:
    rng, n = np.random.default_rng(seed), 4_000
    x = 1 + rng.poisson(rng.gamma(0.7, 1.0 / 0.7, n))
    arm = np.repeat(["A", "B"], n // 2)
    rate = np.minimum(rng.beta(3, 7, n) * np.where(arm == "B", factor, 1.0), 1.0)
    return pl.DataFrame({"variant": arm, "x": x, "y": rng.binomial(x, rate)})


@pytest.mark.parametrize("name", ["A", "B"])
def test_one_visitor_with_most_views_decides_nothing(name: str) -> None:
    swap = pl.col("variant").replace({"A": "B", "B": "A"}) if name == "A" else pl.col("variant")
    frame = with_robot(clicks(2)).with_columns(variant=swap)
    report, variant = judged(frame)
    assert variant.status == "insufficient_data"
    assert report.primary is not None
    assert report.primary.decision.recommendation == "insufficient_data"
    views = frame.filter(variant=name)["x"]
    percent = f"{100 * 10_000 / views.sum():.1f}".removesuffix(".0") + "%"
    assert f"one visitor of '{name}' has {percent} of its 'x', and a comparison allows 20%" in explained(
        report
    )


def test_sums_alone_say_how_much_one_visitor_may_have() -> None:
    frame = with_robot(clicks(3))
    report, variant = judged(None, sums=sums_of(frame))
    assert variant.status == "insufficient_data"
    assert "one visitor of 'B' may have up to 7" in explained(report)


def sums_of(frame: pl.DataFrame, *, has_cubes: bool = True) -> pl.DataFrame:
    x, y = pl.col("x").cast(pl.Float64), pl.col("y").cast(pl.Float64)
    cubes = {
        "x_cubes": (x**3).sum(),
        "y_cubes": (y**3).sum(),
        "y_y_x_products": (y**2 * x).sum(),
        "y_x_x_products": (y * x**2).sum(),
    }
    return frame.group_by("variant").agg(
        visitors=pl.len(),
        x_sum=x.sum(),
        x_squares=(x**2).sum(),
        y_sum=y.sum(),
        y_squares=(y**2).sum(),
        y_x_products=(y * x).sum(),
        **(cubes if has_cubes else {}),
    )


def test_sums_without_cubes_have_a_status_in_equal_variants_only() -> None:
    even, uneven = (
        clicks(4, 1.5),
        clicks(4, 1.5).filter((pl.col("variant") == "A") | (pl.int_range(pl.len()) % 3 > 0)),
    )
    assert judged(None, sums=sums_of(even, has_cubes=False))[1].status == "winner"
    weights = {"A": 60, "B": 40}
    assert judged(None, sums=sums_of(uneven), weights=weights)[1].status != "insufficient_data"
    report, variant = judged(None, sums=sums_of(uneven, has_cubes=False), weights=weights)
    assert variant.status == "insufficient_data"
    assert "'A' and 'B' are of unequal size, and without the sums of cubes" in explained(report)


def test_rows_a_lazy_table_and_sums_have_one_test() -> None:
    frame = visitors((2_400, 600), 5, rate=0.2)
    rows = judged(frame)[1]
    with duckdb.connect() as connection:
        lazy = judged(connection.from_arrow(frame.to_arrow()))[1]
    given = judged(None, sums=sums_of(frame))[1]
    for other in (lazy, given):
        assert other.status == rows.status
        for name in ("log_p_value", "improvement", "absolute_difference"):
            assert flatten(other)[name] == pytest.approx(flatten(rows)[name], rel=1e-9), name


def test_the_intervals_of_a_ratio_agree_with_its_test() -> None:
    for seed, factor in ((6, 1.0), (6, 1.1), (7, 0.8)):
        _, variant = judged(clicks(seed, factor))
        assert variant.p_value is not None
        for interval in (variant.improvement_interval, variant.compared.absolute_difference_interval):
            assert interval is not None
            assert interval.low is not None
            assert interval.high is not None
            assert (interval.low > 0 or interval.high < 0) == (variant.p_value < 0.05)


def test_money_per_order_of_few_buyers_has_no_status() -> None:
    rng, sizes = np.random.default_rng(8), (1_800, 200)
    orders = rng.poisson(0.05, 2_000)
    frame = pl.DataFrame(
        {
            "variant": np.repeat(["A", "B"], sizes),
            "orders": orders,
            "spent": orders * rng.lognormal(3, 1, 2_000),
        }
    )
    report, variant = judged(frame, goals={"spent": Revenue(orders="orders")}, weights=NINE_TO_ONE)
    assert variant.status == "insufficient_data"
    assert "of the 136 paying visitors required" in explained(report)


def test_a_segment_with_one_visitor_who_has_most_views_has_no_status() -> None:
    frame = with_robot(clicks(9, 1.5)).with_columns(
        place=pl.when(pl.int_range(pl.len()).over("variant") % 2 == 0)
        .then(pl.lit("here"))
        .otherwise(pl.lit("there"))
    )
    report = analyze_frame_segments(frame, segments=["place"], control="A", goals=RATIO)
    here, there = (segment.variants[0] for segment in report.goals[0].segments)
    assert (here.status, there.status) == ("insufficient_data", "better")
    assert here.reason is not None
    assert "none with more than 20% of the denominators" in here.reason
