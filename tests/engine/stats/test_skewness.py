"""Skewness of differences, and Hall's transformation, against the formulas and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import Comparison, compare_means
from engine.stats.moments import Moments
from engine.stats.skewness import PooledCumulants, remove_skewness, restore_skewness
from engine.stats.stratification import stratify
from tests.hall import MOST, hall_p, skewness_of_difference

ALPHA = 0.05
SKEWNESS = st.floats(-3.0, 3.0)


def spent(visitors: int, seed: int, rate: float = 0.2) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(visitors) < rate, rng.lognormal(3, 1, visitors), 0.0)


def pooled(control: FloatArray, variant: FloatArray) -> PooledCumulants:
    return PooledCumulants.of(Moments.of(control[None]), Moments.of(variant[None]))


@given(st.floats(-30.0, 30.0), SKEWNESS)
def test_the_transformation_is_halls_polynomial(t: float, skewness: float) -> None:
    expected = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    assert float(remove_skewness(np.array(t), skewness)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.floats(-8.0, 8.0), SKEWNESS)
def test_its_inverse_undoes_it(g: float, skewness: float) -> None:
    t = restore_skewness(np.array(g), skewness)
    assert float(remove_skewness(t, skewness)) == pytest.approx(g, rel=1e-6, abs=1e-6)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), SKEWNESS)
def test_it_rises(one: float, other: float, skewness: float) -> None:
    low, high = sorted((one, other))
    below, above = remove_skewness(np.array([low, high]), skewness)
    assert below <= above + 1e-9 * abs(above)


@given(st.floats(-1e9, 1e9))
def test_without_skewness_nothing_changes_to_the_last_digit(t: float) -> None:
    assert float(remove_skewness(np.array(t), 0.0)) == t
    assert float(restore_skewness(np.array(t), 0.0)) == t


def test_the_skewness_of_a_difference_is_the_formulas() -> None:
    control, variant = spent(900, 1), spent(100, 2)
    expected = skewness_of_difference([variant, control])
    assert pooled(control, variant).skewness()[0] == pytest.approx(expected, rel=1e-12)
    assert pooled(variant, control).skewness()[0] == pytest.approx(-expected, rel=1e-12)


def test_a_larger_skewness_than_the_transformation_is_good_for_counts_as_the_limit() -> None:
    control, variant = np.append(spent(900, 1), 1e6), spent(100, 2)
    assert skewness_of_difference([variant, control]) > 2
    assert pooled(control, variant).skewness()[0] == MOST
    assert pooled(variant, control).skewness()[0] == -MOST
    assert np.exp(compare(control, variant).log_p[0]) == pytest.approx(hall_p(variant, control), rel=1e-9)


def test_arms_of_one_size_have_none() -> None:
    assert pooled(spent(500, 1), spent(500, 2)).skewness()[0] == 0
    assert pooled(np.zeros(50), np.zeros(20)).skewness()[0] == 0
    assert pooled(np.ones(1), spent(20, 1)).skewness()[0] == 0


def test_a_scaled_control_has_the_cube_of_its_scale() -> None:
    control, variant = Moments.of(spent(900, 1)[None]), Moments.of(spent(100, 2)[None])
    found = PooledCumulants.of(control, variant)
    square, cube = (sum(getattr(arm, name)[0] for arm in (control, variant)) / 1000 for name in ("m2", "m3"))
    expected = cube * (1 / 100**2 - 0.8**3 / 900**2) / (square * (1 / 100 + 0.8**2 / 900)) ** 1.5
    assert found.skewness(0.8)[0] == pytest.approx(expected, rel=1e-12)


def test_one_epoch_has_the_skewness_of_plain_means() -> None:
    control, variant = Moments.of(spent(900, 1)[None]), Moments.of(spent(100, 2)[None])
    assert stratify(control, variant).cumulants.skewness() == pytest.approx(
        PooledCumulants.of(control, variant).skewness()[0], rel=1e-12
    )


def test_epochs_add_cubes_of_their_weights() -> None:
    arms = [[Moments.of(spent(n, seed)[None]) for n, seed in sizes] for sizes in EPOCHS]
    control, variant = (Moments.concatenate([epoch[arm] for epoch in arms]) for arm in (0, 1))
    total = control.n.sum() + variant.n.sum()
    third = square = 0.0
    m2s, m3s = control.m2 + variant.m2, control.m3 + variant.m3
    for n_c, n_t, m2, m3 in zip(control.n, variant.n, m2s, m3s, strict=True):
        weight = (n_c + n_t) / total
        third += weight**3 * m3 / (n_c + n_t) * (1 / n_t**2 - 1 / n_c**2)
        square += weight**2 * m2 / (n_c + n_t) * (1 / n_t + 1 / n_c)
    assert stratify(control, variant).cumulants.skewness() == pytest.approx(third / square**1.5, rel=1e-12)


EPOCHS = (((500, 1), (500, 2)), ((180, 3), (820, 4)), ((900, 5), (100, 6)))


def test_the_test_is_halls_of_scipys_welch() -> None:
    control, variant = spent(900, 5), spent(100, 6)
    found = compare(control, variant)
    assert np.exp(found.log_p[0]) == pytest.approx(hall_p(variant, control), rel=1e-9)


def compare(control: FloatArray, variant: FloatArray, alpha: float = ALPHA) -> Comparison:
    first, second = (Estimate.of(Moments.of(arm[None])) for arm in (control, variant))
    return compare_means(first, second, alpha, pooled(control, variant).skewness())


@given(
    st.integers(0, 10_000),
    st.integers(30, 900),
    st.integers(30, 900),
    st.floats(0.3, 3.0),
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_the_interval_leaves_out_zero_exactly_where_the_test_calls(
    seed: int, control_n: int, n: int, lift: float, alpha: float
) -> None:
    control, variant = spent(control_n, seed), spent(n, seed + 1) * lift
    found = compare(control, variant, alpha)
    low, high, p = found.low[0], found.high[0], np.exp(found.log_p[0])
    if np.isnan(low) or p == pytest.approx(alpha, rel=1e-9):
        return
    assert (low > 0 or high < 0) == (p < alpha)
    assert low <= variant.mean() / control.mean() - 1 <= high


def test_an_upper_bound_is_infinite_where_nothing_bounds_the_ratio() -> None:
    found = [compare(spent(180, seed, 0.1), spent(20, seed + 1, 0.3)) for seed in range(40)]
    open_ended = [one for one in found if np.isposinf(one.high[0])]
    assert open_ended
    assert all(np.isfinite(one.low[0]) for one in open_ended)


@pytest.mark.parametrize(("control_n", "n"), [(9_000, 1_000), (1_000, 9_000)])
def test_nine_to_one_revenue_errs_as_often_as_promised_on_each_side(control_n: int, n: int) -> None:
    # Monte-Carlo error of 4,000 runs at 5%: 0.0034.
    arms = [paying(runs=4_000, visitors=visitors, seed=visitors) for visitors in (control_n, n)]
    skewness = PooledCumulants.of(*arms).skewness()
    control, variant = (Estimate.of(arm) for arm in arms)
    plain = compare_means(control, variant, ALPHA)
    found = compare_means(control, variant, ALPHA, skewness)
    wrong = found.log_p < np.log(ALPHA)
    assert np.mean(plain.log_p < np.log(ALPHA)) > 0.065
    assert np.mean(wrong) <= 0.05 + 2 * 0.0034
    assert np.mean(wrong) >= 0.035
    assert max(np.mean(wrong & (np.sign(found.statistic) == side)) for side in (1, -1)) < 0.035
    covered = (found.low <= 0) & (found.high >= 0)
    assert np.mean(covered | np.isnan(found.low)) == pytest.approx(0.95, abs=0.012)


def paying(*, runs: int, visitors: int, seed: int) -> Moments:
    """One visitor in twenty spends a lognormal amount."""
    rng = np.random.default_rng(seed)
    payers = rng.binomial(visitors, 0.05, runs)
    amounts = rng.lognormal(-0.5, 1, payers.sum())
    spending = Moments.of_groups(amounts, np.repeat(np.arange(runs), payers), runs)
    return spending.merge(Moments.of_shares(np.zeros(runs), visitors - payers))


@pytest.mark.parametrize("skewness", [0.0, 0.3, -0.3])
def test_infinite_values_stay_infinite(skewness: float) -> None:
    found = restore_skewness(np.array([np.inf, -np.inf]), np.array(skewness))
    np.testing.assert_array_equal(found, [np.inf, -np.inf])
