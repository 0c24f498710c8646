"""The test of two ratios: written out from rows, against SciPy where x is 1, in A/A tests, at its limits."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from engine.stats.arrays import FloatArray
from engine.stats.contingency import pairs_without
from engine.stats.delta_method import linearize
from engine.stats.estimates import Estimate
from engine.stats.frequentist.ratio_test import RatioArms
from engine.stats.frequentist.two_sample import compare_means
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

Rows = tuple[FloatArray, FloatArray]
Draw = Callable[[np.random.Generator, tuple[int, int], float], Rows]


def arms_of(control: Rows, variant: Rows) -> RatioArms:
    return RatioArms(*(PairedMoments.of(*rows)[None] for rows in (control, variant)))


def written_out(control: Rows, variant: Rows, kept: float, above: float) -> float:
    """The statistic from rows, as a paper has it; the variant's values are divided by `kept`."""
    (x_c, y_c), (x_t, y_t) = control, (variant[0], variant[1] / kept - above * variant[0])
    both = (y_c.sum() + y_t.sum()) / (x_c.sum() + x_t.sum())
    residuals = [(y - both * x) / x.mean() for x, y in ((x_c, y_c), (x_t, y_t))]
    n_c, n_t = (len(one) for one in residuals)
    apart = [one - one.mean() for one in residuals]
    error = np.sqrt(sum((one**2).sum() / (len(one) * (len(one) - 1)) for one in apart))
    t = (y_t.sum() / x_t.sum() - y_c.sum() / x_c.sum()) / error
    together = np.concatenate(apart)
    spread = np.mean(together**2) * (1 / n_t + 1 / n_c)
    skewness = np.mean(together**3) * (1 / n_t**2 - 1 / n_c**2) / spread**1.5
    # Hall (1992), JRSS B 54.
    return float(t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6)


def clicks(rng: np.random.Generator, shape: tuple[int, int], factor: float = 1.0) -> Rows:
    views = 1 + rng.poisson(rng.gamma(0.7, 4 / 0.7, shape))
    clicked = rng.binomial(views, rng.beta(3, 7, shape) * factor)
    return views.astype(np.float64), clicked.astype(np.float64)


def returned_money(rng: np.random.Generator, shape: tuple[int, int], rate: float = 0.03) -> Rows:
    sessions = (1 + rng.poisson(1.5, shape)).astype(np.float64)
    return sessions, np.asarray((rng.random(shape) < rate) * rng.lognormal(3, 1, shape))


def money_per_order(rng: np.random.Generator, shape: tuple[int, int], factor: float = 1.0) -> Rows:
    orders = np.asarray((rng.random(shape) < 0.1) * (1.0 + rng.poisson(0.5, shape)), np.float64)
    return orders, np.asarray(factor * orders * rng.lognormal(3, 0.85, shape))


def heavy_views(rng: np.random.Generator, shape: tuple[int, int], factor: float = 1.0) -> Rows:
    views = 1 + np.ceil(rng.pareto(1.2, shape)).astype(np.int64)
    clicked = rng.binomial(views, rng.beta(2, 8, shape) * factor)
    return views.astype(np.float64), clicked.astype(np.float64)


@pytest.mark.parametrize(("kept", "above"), [(1.0, 0.0), (0.8, 0.0), (1.7, 0.0), (1.0, 0.05), (1.0, -0.2)])
def test_the_statistic_is_the_one_written_out_from_rows(kept: float, above: float) -> None:
    rng = np.random.default_rng(1)
    (x_c, y_c), (x_t, y_t) = (clicks(rng, (1, n)) for n in (900, 100))
    control, variant = (x_c[0], y_c[0]), (x_t[0], y_t[0])
    found = arms_of(control, variant).z(kept, above)[0]
    assert found == pytest.approx(written_out(control, variant, kept, above), rel=1e-10)


def test_means_are_ratios_over_one_each() -> None:
    rng = np.random.default_rng(2)
    y_c, y_t = rng.gamma(2.0, 3.0, 80), rng.gamma(2.0, 3.6, 80)
    one = np.ones(80)
    found = arms_of((one, y_c), (one, y_t)).compare(0.05)
    # Without skewness, as the arms are of one size.
    assert np.exp(found.log_p[0]) == pytest.approx(scipy.stats.ttest_ind(y_t, y_c, equal_var=False).pvalue)
    plain = compare_means(Estimate.of(Moments.of(y_c)[None]), Estimate.of(Moments.of(y_t)[None]), 0.05)
    np.testing.assert_allclose([found.low, found.high], [plain.low, plain.high], rtol=1e-10)
    interval = scipy.stats.ttest_ind(y_t, y_c, equal_var=False).confidence_interval(0.95)
    arms = arms_of((one, y_c), (one, y_t))
    np.testing.assert_allclose(
        np.ravel(arms.difference_interval(arms.critical(0.05))), [*interval], rtol=1e-10
    )


@pytest.mark.parametrize("draw", [clicks, money_per_order, heavy_views])
def test_intervals_leave_out_no_change_exactly_where_the_test_is_significant(draw: Draw) -> None:
    rng = np.random.default_rng(3)
    arms = RatioArms(*(PairedMoments.of(*draw(rng, (150, n), 1.0)) for n in (900, 100)))
    for alpha in (0.05, 0.3):
        test = arms.compare(alpha)
        for low, high in ((test.low, test.high), arms.difference_interval(arms.critical(alpha))):
            known = ~np.isnan(low)
            assert known.mean() > 0.5
            is_out = (low > 0) | (high < 0)
            assert (is_out[known] == (test.log_p <= np.log(alpha))[known]).all()


def test_a_bound_is_where_the_statistic_is_critical() -> None:
    rng = np.random.default_rng(4)
    arms = RatioArms(*(PairedMoments.of(*clicks(rng, (20, n))) for n in (900, 100)))
    lifts, differences = arms.lift_interval(2.5), arms.difference_interval(2.5)
    for place, expected in enumerate((2.5, -2.5)):
        np.testing.assert_allclose(arms.z(kept=1.0 + lifts[place]), expected, rtol=1e-8)
        np.testing.assert_allclose(arms.z(above=differences[place]), expected, rtol=1e-8)


# Better and worse in percent: simulations of these formulas from rows, at 2.5% on each side.
AT_NINE_TO_ONE = [
    (clicks, 1.0, 1_800, 200),
    (clicks, 1.0, 30, 30),
    (money_per_order, 1.0, 1_800, 200),
    (heavy_views, 1.0, 2_000, 2_000),
    (heavy_views, 1.0, 1_800, 200),
]


def errors(draw: Draw, factor: float, n: int, m: int, *, runs: int) -> tuple[float, float]:
    """Shares of tests that call the variant better, and worse."""
    rng, found = np.random.default_rng(5), []
    step = max(2_000_000 // (n + m), 1)
    for first in range(0, runs, step):
        count = min(step, runs - first)
        control, variant = draw(rng, (count, n), factor), draw(rng, (count, m), factor)
        arms = RatioArms(PairedMoments.of(*control), PairedMoments.of(*variant))
        test = arms.compare(0.05)
        found.append(np.where(test.log_p <= np.log(0.05), np.sign(test.statistic), 0.0))
    signs = np.concatenate(found)
    return float((signs > 0).mean()), float((signs < 0).mean())


@pytest.mark.parametrize(("draw", "factor", "n", "m"), AT_NINE_TO_ONE)
def test_an_a_a_test_errs_on_either_side_in_3_5_percent_at_most(
    draw: Draw, factor: float, n: int, m: int
) -> None:
    runs = 400
    # Two Monte Carlo errors.
    assert max(errors(draw, factor, n, m, runs=runs)) <= 0.035 + 2 * np.sqrt(0.035 * 0.965 / runs)


@pytest.mark.long(seconds=4)
@pytest.mark.parametrize(
    ("draw", "factor", "n", "m"),
    [*AT_NINE_TO_ONE, (returned_money, 0.03, 18_000, 2_000), (money_per_order, 1.0, 18_000, 2_000)],
)
def test_an_a_a_test_errs_on_either_side_in_3_5_percent_at_most_in_many_runs(
    draw: Draw, factor: float, n: int, m: int
) -> None:
    runs = 5_000 if n < 10_000 else 2_000
    assert max(errors(draw, factor, n, m, runs=runs)) <= 0.035 + 2 * np.sqrt(0.035 * 0.965 / runs)


def test_a_small_variant_with_half_as_much_again_per_order_wins_twice_as_often() -> None:
    # Simulations of 2,000 runs of such orders: 49%, and 25% by Welch's test of the delta method.
    rng = np.random.default_rng(5)
    sizes = ((1_800, 1.0), (200, 1.5))
    arms = RatioArms(*(PairedMoments.of(*money_per_order(rng, (400, n), factor)) for n, factor in sizes))
    plain = (replace(linearize(arm), m3=np.zeros(400)) for arm in (arms.control, arms.variant))
    control, variant = map(Estimate.of, plain)
    tests = (arms.compare(0.05), compare_means(control, variant, 0.05))
    ours, welchs = (float(((one.log_p <= np.log(0.05)) & (one.statistic > 0)).mean()) for one in tests)
    assert ours == pytest.approx(0.49, abs=0.07)
    assert welchs == pytest.approx(0.25, abs=0.07)


def test_a_robot_in_the_control_makes_no_winner_though_own_ratios_would() -> None:
    rng = np.random.default_rng(6)
    control, variant = clicks(rng, (100, 2_000)), clicks(rng, (100, 2_000))
    control[0][:, 0], control[1][:, 0] = 10_000, 0
    arms = RatioArms(PairedMoments.of(*control), PairedMoments.of(*variant))
    own = compare_means(Estimate.of(linearize(arms.control)), Estimate.of(linearize(arms.variant)), 0.05)
    assert (own.log_p <= np.log(0.05)).mean() > 0.5
    assert not (arms.compare(0.05).log_p <= np.log(0.05)).any()


NOTHING, SOME = np.zeros(5), np.array([0.0, 1.0, 0.0, 2.0, 1.0])
VIEWS = np.array([1.0, 3.0, 2.0, 5.0, 4.0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("control", "variant", "has_test"),
    [
        pytest.param((NOTHING, NOTHING), (VIEWS, SOME), False, id="no denominator in the control"),
        pytest.param((VIEWS, SOME), (NOTHING, NOTHING), False, id="no denominator in the variant"),
        pytest.param((VIEWS, NOTHING), (VIEWS, NOTHING), False, id="no numerator"),
        pytest.param((VIEWS, NOTHING), (VIEWS, SOME), True, id="no numerator in the control"),
        pytest.param((VIEWS, SOME), (VIEWS, NOTHING), True, id="no numerator in the variant"),
        pytest.param((VIEWS, 3.3 * VIEWS), (VIEWS + 1, 3.3 * (VIEWS + 1)), False, id="one ratio"),
        pytest.param((VIEWS * 0 + 3, SOME * 0 + 1), (VIEWS * 0 + 3, SOME * 0 + 1), False, id="equal values"),
        pytest.param((VIEWS[:2], SOME[:2]), (VIEWS[1:3], SOME[1:3]), True, id="two visitors each"),
        pytest.param((VIEWS[:1], SOME[:1]), (VIEWS, SOME), False, id="one visitor"),
        pytest.param((VIEWS, -SOME), (VIEWS, SOME), True, id="a negative ratio"),
        pytest.param((VIEWS, SOME - 2), (VIEWS - 2, SOME), True, id="values of either sign"),
        pytest.param((VIEWS * 1e15, SOME * 1e15), (VIEWS * 1e15, SOME[::-1] * 1e15), True, id="huge values"),
        pytest.param((VIEWS, SOME * 1e-15), (VIEWS, SOME[::-1] * 1e-15), True, id="tiny values"),
    ],
)
def test_whatever_the_values_are_there_is_a_test_or_none(
    control: Rows, variant: Rows, *, has_test: bool
) -> None:
    arms = arms_of(control, variant)
    test = arms.compare(0.05)
    assert (not np.isnan(test.log_p[0])) == has_test
    assert np.isnan(test.statistic[0]) or np.isfinite(test.statistic[0])
    for low, high in ((test.low[0], test.high[0]), np.ravel(arms.difference_interval(arms.critical(0.05)))):
        assert np.isnan(low) == np.isnan(high)
        assert np.isnan(low) or low <= high
    if control[1].sum() <= 0 or not has_test:
        assert np.isnan(test.low[0])


def test_the_unit_of_the_values_changes_nothing() -> None:
    rng = np.random.default_rng(7)
    (x_c, y_c), (x_t, y_t) = money_per_order(rng, (1, 900)), money_per_order(rng, (1, 100), 1.3)
    small = RatioArms(PairedMoments.of(x_c, y_c), PairedMoments.of(x_t, y_t)).compare(0.05)
    large = RatioArms(PairedMoments.of(x_c, 1e9 * y_c), PairedMoments.of(x_t, 1e9 * y_t)).compare(0.05)
    for name in ("statistic", "df", "log_p", "low", "high"):
        np.testing.assert_allclose(getattr(small, name), getattr(large, name), rtol=1e-8)


def test_without_the_third_moments_the_test_is_welchs() -> None:
    rng = np.random.default_rng(8)
    arms = RatioArms(*(PairedMoments.of(*returned_money(rng, (1, n))) for n in (900, 100)))
    unknown = replace(arms, variant=replace(arms.variant, xyy=np.array([np.nan])))
    assert not unknown.are_thirds_known.any()
    control, variant = map(Estimate.of, arms.moments())
    plain = compare_means(control, variant, 0.05)
    np.testing.assert_allclose(unknown.compare(0.05).statistic, plain.statistic, rtol=1e-12)
    assert arms.compare(0.05).statistic != pytest.approx(plain.statistic, rel=1e-3)


def test_one_visitor_is_left_out_by_subtraction_of_its_sums() -> None:
    # As the influence of one visitor is found: the test is of sums alone.
    rng = np.random.default_rng(9)
    (x_c, y_c), (x_t, y_t) = clicks(rng, (1, 500)), clicks(rng, (1, 500))
    control, variant = PairedMoments.of(x_c, y_c), PairedMoments.of(x_t, y_t)
    without = RatioArms(control, pairs_without(PairedMoments.of(x_t[:, :1], y_t[:, :1]), variant))
    rest = RatioArms(control, PairedMoments.of(x_t[:, 1:], y_t[:, 1:]))
    np.testing.assert_allclose(without.compare(0.05).statistic, rest.compare(0.05).statistic, rtol=1e-9)
