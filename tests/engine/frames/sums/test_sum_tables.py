"""Sums by variant, day and segment give the report of the rows that they were added up from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_ind_from_stats

from engine.errors import InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.kinds import Converted, Ratio, Revenue, goals_of
from engine.frames.segments import analyze_frame_segments
from tests.engine.frames.lazy.shop import shop_rows
from tests.engine.frames.same_reports import differences

VALUES = ("spent", "views", "score")
GOALS: dict[str, Any] = {
    "bought": "converted",
    "spent": "revenue",
    "views": "count",
    "score": "value",
    "returned": "retained",
    "score per view": Ratio("score", "views"),
}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """Return rows of one visitor each, in whole cents, with a country that a few do not have."""
    shop = shop_rows(3000).drop("visitor", "rating")
    country = pl.Series(
        "country", [None if row % 17 == 0 else "FI" if row % 3 else "DE" for row in range(3000)]
    )
    return shop.with_columns(pl.col("spent").fill_null(0.0).round(2), country, day=pl.col("at").dt.date())


def summed(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    spent, views, score = (pl.col(name) for name in VALUES)
    return rows.group_by("variant", *by).agg(
        pl.len().alias("visitors"),
        pl.col("bought").sum(),
        (spent > 0).sum(),
        (views > 0).sum(),
        pl.col("returned").sum(),
        pl.col("returned").count().alias("returned_visitors"),
        *(pl.col(name).sum().alias(f"{name}_sum") for name in VALUES),
        *((pl.col(name) ** 2).sum().alias(f"{name}_squares") for name in VALUES),
        *((pl.col(name) ** 3).sum().alias(f"{name}_cubes") for name in VALUES),
        (score * views).sum().alias("score_views_products"),
        (score**2 * views).sum().alias("score_score_views_products"),
        (score * views**2).sum().alias("score_views_views_products"),
    )


def with_ratio_and_score(sums: pl.DataFrame, rows: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Add the visitors with a value other than 0, whom the report counts too."""
    counted = rows.group_by("variant", *by).agg(
        (pl.col("score") != 0).sum(), (pl.col("views") != 0).sum().alias("score per view")
    )
    return sums.drop("score", strict=False).join(counted, on=["variant", *by])


def test_sums_by_variant_give_the_report_of_their_rows(rows: pl.DataFrame) -> None:
    report = analyze_frame(sums=with_ratio_and_score(summed(rows), rows), control="A", goals=GOALS)
    expected = analyze_frame(rows, control="A", goals=GOALS)
    assert expected.goals[1].variants[1].p_value is not None
    # Sums tell neither the largest visitors nor those with a denominator, and each check says so.
    others = [check.check for check in expected.health if check not in report.health]
    assert others == ["measured_visitors", "revenue_concentration", "one_visitor"]
    assert differences(replace(report, health=()), replace(expected, health=())) == []


def test_options_of_goals_that_sums_take_give_the_report_of_their_rows(rows: pl.DataFrame) -> None:
    options: dict[str, Any] = {"guardrail": 5, "minimum_effect": 30, "less_is_better": True}
    goals = {name: goal.with_options(**options) for name, goal in goals_of(GOALS).items()}
    goals |= {"bought": Converted(minimum_effect=30), "spent": Revenue(**options, currency="EUR")}
    report = analyze_frame(sums=with_ratio_and_score(summed(rows), rows), control="A", goals=goals)
    expected = analyze_frame(rows, control="A", goals=goals)
    assert differences(replace(report, health=()), replace(expected, health=())) == []
    assert report.plan.detectable_harm.keys() == {f"goal_{place}" for place in range(1, len(GOALS))}


def test_days_and_segments_of_a_table_add_up(rows: pl.DataFrame) -> None:
    once = with_ratio_and_score(summed(rows), rows)
    by = ("day", "country")
    many = summed(rows, *by)
    assert many.height > 60
    counted = rows.group_by("variant", *by).agg((pl.col("score") != 0).sum())
    many = many.join(counted, on=["variant", *by], nulls_equal=True).with_columns(
        pl.col("views").alias("score per view")
    )
    days = analyze_frame(sums=many, control="A", goals=GOALS, timestamp="day")
    report = analyze_frame(sums=once, control="A", goals=GOALS)
    assert differences(days.goals[1].variants[1].p_value, report.goals[1].variants[1].p_value) == []
    assert len(days.goals[0].days) == 14
    visitors = [by_variant["variant_0"].visitors for _, by_variant in days.goals[0].days]
    assert sum(visitors) == report.goals[0].variants[0].visitors


def test_segments_of_a_table_have_the_results_of_the_rows(rows: pl.DataFrame) -> None:
    goals = {"bought": "converted", "spent": "revenue"}
    asked: dict[str, Any] = {"control": "A", "goals": goals, "segments": ["country"]}
    report = analyze_frame_segments(sums=summed(rows, "country", "day"), **asked)
    assert {segment.value for segment in report.goals[0].segments} == {"DE", "FI"}
    assert differences(report, analyze_frame_segments(rows, **asked)) == []


def test_means_and_variances_are_as_good_as_sums() -> None:
    amounts = {"A": [0.0, 19.99, 5.5, 7.25], "B": [3.0, 0.0, 40.5, 1.0, 8.0]}
    frame = pl.DataFrame(
        {
            "variant": [arm for arm, values in amounts.items() for _ in values],
            "spent": [value for values in amounts.values() for value in values],
        }
    )
    grouped = frame.group_by("variant").agg(
        pl.len().alias("visitors"),
        (pl.col("spent") > 0).sum(),
        pl.col("spent").mean().alias("spent_mean"),
        pl.col("spent").var().alias("spent_variance"),
    )
    asked: dict[str, Any] = {"control": "A", "goals": {"spent": "revenue"}}
    means = analyze_frame(sums=grouped, **asked).goals[0].variants[1]
    squares = (
        analyze_frame(
            sums=frame.group_by("variant").agg(
                pl.len().alias("visitors"),
                (pl.col("spent") > 0).sum(),
                pl.col("spent").sum().alias("spent_sum"),
                (pl.col("spent") ** 2).sum().alias("spent_squares"),
            ),
            **asked,
        )
        .goals[0]
        .variants[1]
    )
    # Without cubes there is no correction for skewness: the plain test of Welch.
    assert differences(means, squares) == []
    assert means.revenue_cents == 5250


def test_means_and_variances_keep_the_digits_of_large_values() -> None:
    """As doubles, squares around a billion squared would leave nothing of a variance of 2/3."""
    variance = 100 / 149
    sums = {
        "variant": ["A", "B"],
        "visitors": [150, 150],
        "score_mean": [1e9, 1e9 + 0.25],
        "score_variance": [variance, variance],
    }
    found = analyze_frame(sums=sums, control="A", goals={"score": "value"}).goals[0].variants[1].p_value
    expected = ttest_ind_from_stats(1e9, variance**0.5, 150, 1e9 + 0.25, variance**0.5, 150, equal_var=False)
    assert found == pytest.approx(expected.pvalue, rel=1e-6)


def test_a_mean_is_of_the_visitors_who_have_one() -> None:
    sums = {
        "variant": ["A", "B"],
        "visitors": [1000, 1000],
        "load_visitors": [900, 905],
        "load_mean": [2.0, 2.5],
        "load_variance": [1.0, 1.0],
    }
    found = analyze_frame(sums=sums, control="A", goals={"load": "mean"}).goals[0].variants[1]
    assert (found.observed_visitors, found.mean) == (905, 2.5)
    expected = ttest_ind_from_stats(2.0, 1.0, 900, 2.5, 1.0, 905, equal_var=False)
    assert found.compared.log_p_value == pytest.approx(np.log(expected.pvalue), rel=1e-3)


GOOD: dict[str, Any] = {
    "variant": ["A", "B"],
    "visitors": [100, 110],
    "bought": [10, 12],
    "spent": [10, 12],
    "spent_sum": [300.0, 360.0],
    "spent_squares": [12_000.0, 15_000.0],
}


@pytest.mark.parametrize(
    ("changed", "goals", "message"),
    [
        (
            {"visitors": None},
            {"bought": "converted"},
            "sums has no column 'visitors'; give a row per variant",
        ),
        ({"variant": []}, {"bought": "converted"}, "sums has no rows"),
        ({"bought": [10, 200]}, {"bought": "converted"}, "row 2 has 200 conversions of 'bought'"),
        (
            {"bought": [10.0, 1.5]},
            {"bought": "converted"},
            "'bought' holds numbers that are no counts of visitors",
        ),
        (
            {"bought": [-1, 1]},
            {"bought": "converted"},
            "'bought' holds numbers that are no counts of visitors",
        ),
        ({"bought": None}, {"bought": "converted"}, "there is no column 'bought'"),
        ({"spent_squares": None}, {"spent": "revenue"}, "there is no column 'spent_squares'"),
        (
            {"spent_squares": [800.0, 15_000.0]},
            {"spent": "revenue"},
            "'spent_squares' is less than the square",
        ),
        (
            {"spent_sum": [float("nan"), 1.0]},
            {"spent": "revenue"},
            "'spent_sum' holds numbers that are missing",
        ),
        ({"spent_sum": ["a", "b"]}, {"spent": "revenue"}, "'spent_sum' holds String, not numbers"),
        ({"spent_sum": [1e308, 1.0]}, {"spent": "value"}, r"'spent_sum' holds numbers beyond 1e\+50"),
        (
            {"spent_squares": [1e308, 1.0]},
            {"spent": "value"},
            r"'spent_squares' holds numbers beyond 1e\+100",
        ),
        ({"visitors": [1e300, 1.0]}, {"bought": "converted"}, "'visitors' holds numbers that are no counts"),
    ],
)
def test_an_impossible_table_is_refused(changed: dict[str, Any], goals: dict[str, Any], message: str) -> None:
    sums = {name: values for name, values in {**GOOD, **changed}.items() if values is not None}
    if changed.get("variant") == []:
        sums = {name: [] for name in sums}
    assert analyze_frame(sums=GOOD, control="A", goals=goals).goals
    with pytest.raises(InvalidEvidenceError, match=message):
        analyze_frame(sums=sums, control="A", goals=goals)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"df": pl.DataFrame(GOOD)}, "give either a data frame of rows or a table of sums"),
        ({"sums": None}, "give either a data frame of rows or a table of sums"),
        ({"visitor": "variant"}, "sums have no visitors"),
        ({"goals": {"spent": Revenue(cap_percentile=99)}}, "sums take no covariates, orders or caps"),
        ({"sums": 5}, "int is not a data frame"),
        ({"timestamp": "visitors"}, "'visitors' holds Int64, not times"),
    ],
)
def test_what_sums_cannot_tell_is_refused(asked: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"sums": GOOD, "control": "A", "goals": ["bought"], **asked}
    with pytest.raises(InvalidEvidenceError, match=message):
        analyze_frame(fields.pop("df", None), **fields)
