from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.stats.arrays import FloatArray
from engine.stats.frequentist.quantiles import (
    QuantileComparison,
    ValueCounts,
    compare_quantiles,
    estimate_quantiles,
    has_enough_beyond,
    relative_quantile_z,
    score_z,
)
from tests.examples import examples

Draw = Callable[[np.random.Generator, int], FloatArray]
# Values of visitors of which many are equal, of which most are, and of which a quantile lies in a gap.
SHAPES: dict[str, Draw] = {
    "Poisson counts": lambda rng, n: rng.poisson(2.67, n).astype(float),
    "whole seconds": lambda rng, n: np.rint(rng.lognormal(2.5, 0.8, n)),
    "two modes": lambda rng, n: rng.normal(np.where(rng.random(n) < 0.5, 10.0, 20.0), 1.0),
    "55% zeros": lambda rng, n: np.where(rng.random(n) < 0.55, 0.0, rng.lognormal(0.0, 1.0, n)),
    "lognormal": lambda rng, n: rng.lognormal(0.0, 1.0, n),
}
SHARES = np.array([0.5, 0.9])
SIZES = ((1_000, 1_000), (900, 100))


def compare(values: Draw, sizes: tuple[int, int], rng: np.random.Generator) -> QuantileComparison:
    control, variant = (ValueCounts.of(values(rng, n)) for n in sizes)
    return compare_quantiles(control, variant, SHARES, 0.05)


def simulate(values: Draw, sizes: tuple[int, int], runs: int) -> tuple[FloatArray, FloatArray]:
    """Return the shares of A/A tests that call a difference, by side, and of those that cover 0."""
    rng = np.random.default_rng(20)
    found = QuantileComparison.stack([compare(values, sizes, rng) for _ in range(runs)])
    called = found.log_p <= np.log(0.05)
    sides = np.stack([(called & (found.z > 0)).mean(axis=0), (called & (found.z < 0)).mean(axis=0)])
    return sides, ((found.low <= 0) & (found.high >= 0)).mean(axis=0)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_few_a_a_tests_call_a_difference(shape: str, sizes: tuple[int, int]) -> None:
    sides, covered = simulate(SHAPES[shape], sizes, runs=40)
    # 40 tests tell 3.5% to within 5.8 points; Welch's test of quantiles called 41% to 54% here.
    assert (sides < 0.035 + 0.058).all()
    assert (covered > 0.94 - 0.075).all()


@pytest.mark.long(seconds=3)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_a_tests_stay_at_their_level(shape: str, sizes: tuple[int, int]) -> None:
    sides, covered = simulate(SHAPES[shape], sizes, runs=2_000)
    # Two standard errors of 2,000 runs.
    assert (sides <= 0.035 + 0.008).all()
    assert (covered >= 0.94 - 0.011).all()


@pytest.mark.parametrize(
    ("runs", "points"), [(60, 0.10), pytest.param(2_000, 0.011, marks=pytest.mark.long(seconds=8))]
)
def test_intervals_cover_a_true_change(runs: int, points: float) -> None:
    rng, true = np.random.default_rng(21), stats.lognorm.ppf(SHARES, 1.0)
    found = [
        compare_quantiles(
            ValueCounts.of(rng.lognormal(0.0, 1.0, 500)),
            ValueCounts.of(1.3 * rng.lognormal(0.0, 1.0, 500)),
            SHARES,
            0.05,
        )
        for _ in range(runs)
    ]
    together = QuantileComparison.stack(found)
    covered = [
        ((together.low <= 0.3 * true) & (together.high >= 0.3 * true)).mean(axis=0),
        ((together.lift_low <= 0.3) & (together.lift_high >= 0.3)).mean(axis=0),
    ]
    assert (np.array(covered) >= 0.94 - points).all()


def test_score_test_of_medians_is_that_of_mood() -> None:
    # scipy.stats.median_test: Mood (1950), without Yates' correction.
    rng = np.random.default_rng(3)
    control, variant = rng.lognormal(0.0, 1.0, 60), rng.lognormal(0.2, 1.0, 80)
    mood = stats.median_test(control, variant, correction=False)
    z = score_z(ValueCounts.of(control), ValueCounts.of(variant), 0.5)
    assert z**2 == pytest.approx(mood.statistic)


def test_ties_at_the_quantile_are_split() -> None:
    # By hand: q = 1, a = 1/3, shares below (2 + 1/3)/4 and (1 + 2/3)/4, mean square (3 + 1/3)/8.
    z = score_z(ValueCounts.of([0, 0, 1, 2]), ValueCounts.of([0, 1, 1, 3]), [0.5])
    assert z == pytest.approx([(2 / 12) / np.sqrt((5 / 12 - 1 / 4) / 2)])


@examples(30, 300)
@given(
    values=st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=60),
    share=st.floats(0.02, 0.98),
)
def test_quantiles_are_numpys_of_the_same_definition(values: list[float], share: float) -> None:
    found = ValueCounts.of(values).quantiles(share)
    place = (len(values) + 1 / 3) * share + 1 / 3
    if not 1 <= place <= len(values):
        assert np.isnan(found)
    else:
        assert found == pytest.approx(np.quantile(values, share, method="median_unbiased"), abs=1e-9)


def test_limits_are_the_order_statistics_of_the_binomial() -> None:
    # The 95% interval of a median of 100 values runs from the 40th to the 61st value: binom.ppf(0.025) = 40.
    arm = ValueCounts.of(np.arange(1.0, 101.0))
    found = estimate_quantiles(arm, 0.5)
    assert 1.96 * np.sqrt(found.variance) == pytest.approx(61 - 50.5, abs=0.8)


def test_standard_error_is_the_asymptotic_one() -> None:
    # sqrt(q (1 - q) / n) / f(x_q), Kendall and Stuart (1977), section 10.10; of the wider side, so above it.
    rng = np.random.default_rng(1)
    shares = np.array([0.1, 0.5, 0.9])
    errors = [
        np.sqrt(estimate_quantiles(ValueCounts.of(rng.lognormal(0, 1, 20_000)), shares).variance)
        for _ in range(20)
    ]
    expected = np.sqrt(shares * (1 - shares) / 20_000) / stats.lognorm.pdf(stats.lognorm.ppf(shares, 1), 1)
    ratio = np.mean(errors, axis=0) / expected
    assert ((ratio > 0.98) & (ratio < 1.15)).all()


@examples(20, 200)
@given(seed=st.integers(0, 10_000), scale=st.floats(0.5, 2.0), level=st.sampled_from([0.01, 0.05, 0.2]))
def test_interval_excludes_no_difference_exactly_where_p_is_below_the_level(
    seed: int, scale: float, level: float
) -> None:
    rng = np.random.default_rng(seed)
    control = ValueCounts.of(rng.poisson(4.0, 200))
    variant = ValueCounts.of(scale * rng.poisson(4.0, 150))
    found = compare_quantiles(control, variant, [0.25, 0.5, 0.75], level)
    is_found = found.log_p < np.log(level)
    assert (((found.low > 0) | (found.high < 0)) == is_found).all()
    assert (((found.lift_low > 0) | (found.lift_high < 0)) == is_found).all()


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_lift_is_bounded_by_the_ratios_at_which_the_interval_reaches_0(share: float) -> None:
    rng = np.random.default_rng(8)
    control = ValueCounts.of(rng.lognormal(0.0, 1.0, 300))
    variant = ValueCounts.of(rng.lognormal(0.5, 1.0, 200))
    found = compare_quantiles(control, variant, share, 0.05)
    reached = [
        float(relative_quantile_z(control, variant, share, 1.0 + float(bound)))
        for bound in (found.lift_low, found.lift_high)
    ]
    assert reached == pytest.approx([1.95996, -1.95996], abs=1e-4)


def test_a_control_near_0_bounds_no_lift_from_above() -> None:
    control = ValueCounts.of([-1.0] * 20 + [0.1] * 12 + [2.0] * 20)
    variant = ValueCounts.of(np.arange(1.0, 61.0))
    found = compare_quantiles(control, variant, 0.5, 0.05)
    assert found.low > 0
    assert found.lift_low > 0
    assert found.lift_high == np.inf


def test_equal_quantiles_are_no_difference_however_the_rest_differs() -> None:
    # The median of both is 1; above it they differ, which the score test alone would call.
    control = ValueCounts.of([0.0] * 480 + [1.0] * 500 + [2.0] * 20)
    variant = ValueCounts.of([0.0] * 380 + [1.0] * 500 + [2.0] * 120)
    assert score_z(control, variant, 0.5) > 3
    assert compare_quantiles(control, variant, 0.5, 0.05).log_p == 0.0


@pytest.mark.parametrize(
    ("n", "share", "is_enough"), [(100, 0.9, True), (99, 0.9, False), (1_000, 0.99, True)]
)
def test_ten_visitors_are_needed_beyond_a_quantile(n: int, share: float, *, is_enough: bool) -> None:
    assert has_enough_beyond(n, share) == is_enough
    assert has_enough_beyond(n, 1 - share) == is_enough


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0]])
def test_too_few_visitors_have_no_extreme_quantile(values: list[float]) -> None:
    assert not estimate_quantiles(ValueCounts.of(values), [0.99]).defined.any()
    assert np.isnan(compare_quantiles(ValueCounts.of(values), ValueCounts.of([1.0]), 0.99, 0.05).z)


def test_the_largest_value_is_no_quantile() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        estimate_quantiles(ValueCounts.of([1.0, 2.0]), 1.0)


def test_rounding_widens_intervals_as_another_error_does() -> None:
    rng = np.random.default_rng(3)
    exact = [ValueCounts.of(rng.normal(mean, 1.0, 2_000)) for mean in (10.0, 10.4)]
    rounded = [ValueCounts(arm.values, arm.counts, np.full(arm.values.shape, 0.02)) for arm in exact]
    plain, wide = (compare_quantiles(arms[0], arms[1], 0.5, 0.05) for arms in (exact, rounded))
    apart = exact[1].quantiles(0.5) - exact[0].quantiles(0.5)
    added = 1.959964 * 0.02 * 2**0.5
    assert apart - wide.low == pytest.approx(np.hypot(apart - plain.low, added), rel=1e-6)
    assert wide.high - apart == pytest.approx(np.hypot(plain.high - apart, added), rel=1e-6)
    assert 0 < wide.z <= plain.z
    assert wide.lift_low < plain.lift_low < plain.lift_high < wide.lift_high
