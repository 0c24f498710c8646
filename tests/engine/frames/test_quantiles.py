import numpy as np
import polars as pl
import pytest

from engine.errors import InvalidEvidenceError
from engine.frames.quantiles import analyze_frame_quantiles


def seconds(scale: float = 1.2, n: int = 4_000, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    treated = rng.random(n) < 0.5
    times = rng.lognormal(0.0, 0.6, n) * np.where(treated, scale, 1.0)
    return pl.DataFrame({"variant": np.where(treated, "new", "old"), "seconds": times})


def test_quantiles_are_those_of_numpy_and_their_difference_is_found() -> None:
    df = seconds()
    median, tail = analyze_frame_quantiles(df, "seconds", [0.5, 0.9], control="old")
    new = df.filter(pl.col("variant") == "new")["seconds"].to_numpy()
    assert (median.share, tail.share) == (0.5, 0.9)
    assert median.value == pytest.approx(np.quantile(new, 0.5, method="median_unbiased"), rel=1e-12)
    assert tail.value == pytest.approx(np.quantile(new, 0.9, method="median_unbiased"), rel=1e-12)
    for found in (median, tail):
        assert found.p_value is not None
        assert found.p_value < 0.001
        interval = found.improvement_interval
        assert interval is not None
        assert (interval.low or 0) < 0.2 < (interval.high or 0)


@pytest.mark.long(seconds=3)
def test_a_a_tests_of_the_median_raise_as_few_alarms_as_they_say() -> None:
    alarms = [
        (analyze_frame_quantiles(seconds(1.0, 600, seed), "seconds", [0.5], control="old")[0].p_value or 1)
        < 0.05
        for seed in range(400)
    ]
    # 400 tests tell 5% to within 1.1 points.
    assert 0.015 < np.mean(alarms) < 0.085


def test_too_few_for_so_extreme_a_quantile_is_no_number() -> None:
    (found,) = analyze_frame_quantiles(seconds(n=100), "seconds", [0.999], control="old")
    assert (found.value, found.p_value, found.improvement_interval) == (None, None, None)


def test_a_heap_of_zeros_has_a_median_and_no_test() -> None:
    df = seconds().with_columns(seconds=pl.when(pl.col("seconds") > 2).then("seconds").otherwise(0.0))
    (found,) = analyze_frame_quantiles(df, "seconds", [0.5], control="old")
    assert (found.value, found.improvement, found.p_value) == (0.0, None, None)


def test_who_has_no_value_is_left_out() -> None:
    df = seconds()
    gaps = pl.concat([df, df.with_columns(seconds=pl.lit(None, pl.Float64)), df.with_columns(seconds=np.nan)])
    assert analyze_frame_quantiles(gaps, "seconds", [0.5], control="old") == analyze_frame_quantiles(
        df, "seconds", [0.5], control="old"
    )


@pytest.mark.parametrize(
    ("column", "shares", "control", "message"),
    [
        ("second", [0.5], "old", "did you mean 'seconds'"),
        ("variant", [0.5], "old", "not numbers"),
        ("seconds", [1.0], "old", "between 0 and 1"),
        ("seconds", [0.5], "olde", "none of the variants"),
    ],
)
def test_what_makes_no_sense_is_refused(column: str, shares: list[float], control: str, message: str) -> None:
    with pytest.raises(InvalidEvidenceError, match=message):
        analyze_frame_quantiles(seconds(n=50), column, shares, control=control)
