from collections.abc import Callable
from typing import Any

import duckdb
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


def as_lazy(df: pl.DataFrame) -> Any:
    return duckdb.connect().from_arrow(df.to_arrow())


def test_quantiles_are_those_of_numpy_and_their_difference_is_found() -> None:
    df = seconds()
    median, tail = analyze_frame_quantiles(df, "seconds", [0.5, 0.9], control="old")
    new = df.filter(pl.col("variant") == "new")["seconds"].to_numpy()
    assert (median.share, tail.share) == (0.5, 0.9)
    assert median.value == pytest.approx(np.quantile(new, 0.5, method="median_unbiased"), rel=1e-12)
    assert tail.value == pytest.approx(np.quantile(new, 0.9, method="median_unbiased"), rel=1e-12)
    for found in (median, tail):
        assert found.status == "higher"
        assert found.p_value is not None
        assert found.p_value < 0.001
        interval = found.improvement_interval
        assert interval is not None
        assert (interval.low or 0) < 0.2 < (interval.high or 0)
        apart = found.difference_interval
        assert apart is not None
        assert (apart.low or 0) < (found.difference or 0) < (apart.high or 0)


def test_lower_values_are_lower() -> None:
    (found,) = analyze_frame_quantiles(seconds(0.8), "seconds", [0.5], control="old")
    assert found.status == "lower"


@pytest.mark.parametrize("make", [lambda df: df, as_lazy], ids=["eager", "lazy"])
def test_a_lazy_table_has_the_quantiles_of_its_rows(make: Callable[[pl.DataFrame], Any]) -> None:
    df = seconds().with_columns(pl.col("seconds").round(1))
    gaps = pl.concat([df, df.with_columns(seconds=pl.lit(None, pl.Float64)), df.with_columns(seconds=np.nan)])
    found = analyze_frame_quantiles(make(gaps), "seconds", [0.5, 0.9], control="old")
    assert found == analyze_frame_quantiles(df, "seconds", [0.5, 0.9], control="old")


def test_several_comparisons_are_adjusted_by_holm() -> None:
    df = pl.concat(
        [
            seconds(1.07),
            seconds(1.0, seed=4).filter(pl.col("variant") == "new").with_columns(variant=pl.lit("other")),
        ]
    )
    found = analyze_frame_quantiles(df, "seconds", [0.25, 0.5, 0.75], control="old")
    plain = sorted(one.p_value or 0.0 for one in found)
    # Holm (1979), by hand: the k-th smallest of six p values times 7 - k, never falling.
    expected = np.minimum(np.maximum.accumulate([p * (6 - k) for k, p in enumerate(plain)]), 1.0)
    assert sorted(one.adjusted_p_value or 0.0 for one in found) == pytest.approx(expected.tolist())
    for one in found:
        low = one.improvement_interval and one.improvement_interval.low
        assert (one.status == "higher") == ((one.adjusted_p_value or 0.0) <= 0.05) == ((low or 0.0) > 0)


def test_whole_counts_of_one_distribution_do_not_differ() -> None:
    # Welch's test of such medians called half of the seeds.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        df = pl.DataFrame({"variant": ["old", "new"] * 1_000, "views": rng.poisson(2.67, 2_000)})
        (found,) = analyze_frame_quantiles(df, "views", [0.5], control="old")
        assert found.status == "inconclusive"


def test_too_few_beyond_a_quantile_is_not_enough_data() -> None:
    (found,) = analyze_frame_quantiles(seconds(n=300), "seconds", [0.95], control="old")
    assert found.status == "insufficient_data"
    assert found.value is not None
    assert (found.p_value, found.adjusted_p_value, found.improvement_interval) == (None, None, None)


def test_a_heap_of_zeros_has_a_median_without_a_lift() -> None:
    df = seconds().with_columns(seconds=pl.when(pl.col("seconds") > 2).then("seconds").otherwise(0.0))
    (found,) = analyze_frame_quantiles(df, "seconds", [0.5], control="old")
    assert (found.value, found.improvement, found.p_value) == (0.0, None, 1.0)


@pytest.mark.parametrize("make", [lambda df: df, as_lazy], ids=["eager", "lazy"])
@pytest.mark.parametrize(
    ("column", "shares", "control", "message"),
    [
        ("second", [0.5], "old", "did you mean 'seconds'"),
        ("variant", [0.5], "old", "not numbers"),
        ("seconds", [1.0], "old", "between 0 and 1"),
        ("seconds", [], "old", "between 0 and 1"),
        ("seconds", [0.5], "olde", "none of the variants"),
        ("endless", [0.5], "old", "infinite"),
    ],
)
def test_what_makes_no_sense_is_refused(
    make: Callable[[pl.DataFrame], Any], column: str, shares: list[float], control: str, message: str
) -> None:
    df = seconds(n=50).with_columns(endless=pl.lit(float("inf")))
    with pytest.raises(InvalidEvidenceError, match=message):
        analyze_frame_quantiles(make(df), column, shares, control=control)
