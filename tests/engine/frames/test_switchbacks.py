"""Switchback tests: schedules, windows as clusters, washouts, what carry-over leaves, and error rates."""

from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from engine.analysis.results.variant_result import VariantResult
from engine.errors import InvalidDesignError, InvalidEvidenceError
from engine.frames.analyze import analyze_frame
from engine.frames.switchbacks import Switchback, switchback_schedule
from tests.examples import trials

START = datetime(2026, 3, 2, tzinfo=UTC)
HOURS = 6
# A window has four time constants of the carry-over, and the washout is a third of it.
CONSTANTS = 4.0
WASHOUT = 60 * HOURS / 3


def a_schedule(windows: int, seed: int, **given: Any) -> pl.DataFrame:
    end = START + windows * timedelta(hours=HOURS)
    return switchback_schedule(START, end, window_hours=HOURS, variants=["A", "B"], seed=seed, **given)


def orders(
    windows: int, seed: int, *, effect: float = 0.0, noise: float = 0.0, each: int = 24
) -> pl.DataFrame:
    """Orders at even distances; the effect approaches that of the window's variant exponentially.

    With noise, windows share a level, which also follows the hours of the day.
    """
    schedule = a_schedule(windows, seed)
    wanted = effect * (schedule["variant"] == "B").cast(pl.Float64).to_numpy()
    rng = np.random.default_rng(seed)
    shares = (np.arange(each) + 0.5) / each
    amounts, reached = [], 0.0
    for number, target in enumerate(wanted):
        level = 10 + noise * (rng.normal() + np.sin(2 * np.pi * number * HOURS / 24))
        amounts.append(level + target + (reached - target) * np.exp(-CONSTANTS * shares))
        reached = target + (reached - target) * np.exp(-CONSTANTS)
    seconds = (HOURS * 3600 * (np.arange(windows)[:, None] + shares)).ravel()
    return pl.DataFrame(
        {
            "ordered_at": [START + timedelta(seconds=one) for one in seconds.tolist()],
            "variant": np.repeat(schedule["variant"].to_numpy(), each),
            "amount": np.concatenate(amounts) + noise * rng.normal(size=windows * each),
        }
    )


def judged(frame: Any, **given: Any) -> VariantResult:
    windows = {"time": "ordered_at", "window_hours": HOURS, **given}
    report = analyze_frame(frame, control="A", goals={"amount": "value"}, switchback=Switchback(**windows))
    return report.goals[0].variants[1]


def test_a_schedule_deals_equal_numbers_of_windows_in_each_region() -> None:
    schedule = a_schedule(29, 1, regions=["Berlin", "Paris"])
    counts = schedule.group_by("region", "variant").len()["len"].sort().to_list()
    assert counts == [14, 14, 15, 15]
    assert schedule["ends_at"].max() == START + 29 * timedelta(hours=HOURS)
    orders = [part["variant"].to_list() for part in schedule.partition_by("region")]
    assert orders[0] != orders[1]
    assert schedule.equals(a_schedule(29, 1, regions=["Berlin", "Paris"]))
    assert not schedule.equals(a_schedule(29, 2, regions=["Berlin", "Paris"]))
    assert a_schedule(29, 1).columns == ["starts_at", "ends_at", "variant"]


def test_a_remainder_of_the_period_is_left_out_and_any_variant_may_have_one_window_more() -> None:
    end = START + timedelta(hours=9 * HOURS + 1)
    drawn = [
        switchback_schedule(START, end, window_hours=HOURS, variants=["A", "B"], seed=seed)["variant"]
        for seed in range(20)
    ]
    assert {(one == "A").sum() for one in drawn} == {4, 5}
    assert {len(one) for one in drawn} == {9}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"variants": ["A"]}, "variants: must be two or more"),
        ({"variants": ["A", "A"]}, "variants: must differ"),
        ({"regions": ["x", "x"]}, "regions: must differ"),
        ({"window_hours": 0}, "window_hours: must be above 0"),
        ({"window_hours": 1e-11}, "window_hours: must be above 0"),
        ({"window_hours": 30}, "there are 0 windows of 30 hours for 2"),
    ],
)
def test_schedules_that_cannot_be_are_refused(given: dict[str, Any], reason: str) -> None:
    asked: dict[str, Any] = {"window_hours": 6, "variants": ["A", "B"], "seed": 1, **given}
    with pytest.raises(InvalidDesignError, match=reason):
        switchback_schedule(START, START + timedelta(hours=24), **asked)


def test_windows_are_clusters_and_a_washout_begins_those_that_changed() -> None:
    frame = orders(40, 5, effect=1.0, noise=1.0)
    found = judged(frame, washout_minutes=WASHOUT)
    # The same by hand, from the schedule.
    schedule = a_schedule(40, 5)
    changed = (schedule["variant"] != schedule["variant"].shift(1)).fill_null(value=True)
    elapsed = (pl.col("ordered_at") - START).dt.total_seconds()
    rows = frame.with_columns(number=elapsed // (3600 * HOURS), since=elapsed % (3600 * HOURS) / 60)
    rows = rows.with_columns(changed=changed.gather(rows["number"]))
    kept = rows.filter(~pl.col("changed") | (pl.col("since") >= WASHOUT))
    expected = (
        analyze_frame(kept, control="A", goals={"amount": "value"}, cluster="number", timestamp="ordered_at")
        .goals[0]
        .variants[1]
    )
    assert kept.height < rows.height
    assert found == expected
    assert found.clusters == 20


@pytest.mark.parametrize(("washout", "left"), [(0.0, 0.0), (WASHOUT, 1 / 3)])
def test_a_washout_of_a_third_leaves_what_the_carry_over_says(washout: float, left: float) -> None:
    """In a window that changed, the last part lacks the mean of exp(-4 t) over it; so do both variants."""
    found = judged(orders(1_000, 3, effect=1.0), washout_minutes=washout)
    lacking = (np.exp(-CONSTANTS * left) - np.exp(-CONSTANTS)) / (CONSTANTS * (1 - left))
    # Half of the windows changed, with fewer rows.
    share = (1 - left) / (2 - left)
    assert found.compared.absolute_difference is not None
    assert found.compared.absolute_difference == pytest.approx(1 - 2 * share * lacking, abs=0.02)
    assert (0.92 < found.compared.absolute_difference < 0.94) == bool(washout)


@pytest.mark.many(seconds=50)
@pytest.mark.parametrize("windows", [28, pytest.param(112, marks=pytest.mark.long(seconds=50))])
def test_a_a_tests_of_windows_err_in_five_percent(windows: int) -> None:
    runs = trials(20, 600)
    p_values = [
        judged(orders(windows, seed, noise=1.0, each=6), washout_minutes=WASHOUT).p_value
        for seed in range(runs)
    ]
    errors = sum(one is not None and one < 0.05 for one in p_values)
    assert None not in p_values
    # Windows at random hours of the day, so 5%; and two Monte-Carlo errors.
    assert errors <= runs * 0.053 + 2 * np.sqrt(runs * 0.05 * 0.95)


def test_a_window_after_one_without_rows_has_a_washout() -> None:
    frame = orders(40, 5)
    schedule = a_schedule(40, 5)["variant"].to_list()
    number = next(place for place in range(1, 39) if schedule[place : place + 2] == ["B", "B"])
    edge = START + timedelta(hours=HOURS) * (number + 1)
    rest = frame.filter(~pl.col("ordered_at").is_between(edge - timedelta(hours=HOURS), edge, closed="left"))
    visitors = [judged(one, washout_minutes=WASHOUT).visitors for one in (frame, rest)]
    assert visitors[0] - visitors[1] == (24 if schedule[number - 1] == "B" else 16) + 8


def test_regions_have_windows_of_their_own_and_any_table_may_hold_them() -> None:
    rows = pl.concat(
        [orders(20, seed, noise=1.0).with_columns(city=pl.lit(f"city {seed}")) for seed in (1, 2)]
    )
    found = judged(rows, region="city", washout_minutes=30)
    assert found.clusters == 20
    assert judged(duckdb.sql("SELECT * FROM rows"), region="city", washout_minutes=30) == found
    shifted = rows.with_columns(pl.col("ordered_at") + timedelta(hours=5))
    start = START + timedelta(hours=5)
    assert judged(shifted, region="city", washout_minutes=30, start=start).p_value == found.p_value


@pytest.mark.parametrize("name", ["_at", "_since", "at", "number", "region", "since", "is_changed"])
def test_columns_may_have_any_name_but_that_of_windows(name: str) -> None:
    frame = orders(40, 5, effect=1.0, noise=1.0)
    windows = Switchback(time="ordered_at", window_hours=HOURS, washout_minutes=WASHOUT)
    report = analyze_frame(
        frame.rename({"amount": name}), control="A", goals={name: "value"}, switchback=windows
    )
    assert report.goals[0].variants[1].p_value == judged(frame, washout_minutes=WASHOUT).p_value


@pytest.mark.parametrize(
    ("rows", "given", "reason"),
    [
        (
            pl.all(),
            {"window_hours": 24},
            r"windows have rows of several variants, such as that of 2026-03-02 00",
        ),
        (pl.all(), {"washout_minutes": 360}, "less than a window's 360, not 360"),
        (pl.all(), {"start": "2026-03-02"}, "start: must be a datetime, not '2026-03-02'"),
        (pl.all(), {"window_hours": -1}, "window_hours: must be above 0"),
        # Two windows would have the name of one second.
        (pl.all(), {"window_hours": 0.5 / 3600}, "window_hours: must be above 0, from a second"),
        (pl.all(), {"time": "at"}, "there is no column 'at'"),
        (pl.lit("x").alias("window"), {"region": "window"}, "rename the column 'window'"),
        (pl.lit(None, pl.String).alias("city"), {"region": "city"}, "'city' says nothing in 480 rows"),
        (pl.lit(None, pl.String).alias("variant"), {}, "'variant' says nothing in 480 rows"),
    ],
)
def test_rows_and_windows_that_disagree_are_refused(
    rows: pl.Expr, given: dict[str, Any], reason: str
) -> None:
    with pytest.raises((InvalidEvidenceError, InvalidDesignError), match=reason):
        judged(orders(20, 1).with_columns(rows), **given)


@pytest.mark.parametrize("column", ["visitor", "cluster"])
def test_rows_of_windows_are_of_nothing_else(column: str) -> None:
    windows = Switchback(time="ordered_at", window_hours=HOURS)
    asked: dict[str, Any] = {
        "control": "A",
        "goals": {"amount": "value"},
        "switchback": windows,
        column: "amount",
    }
    with pytest.raises(InvalidEvidenceError, match="leave out visitor and cluster"):
        analyze_frame(orders(20, 1), **asked)
