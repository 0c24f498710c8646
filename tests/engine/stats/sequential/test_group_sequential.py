import numpy as np
import pytest
from scipy import stats

from engine.stats.arrays import FloatArray
from engine.stats.sequential.group_sequential import (
    crossing_probability,
    drift_for_power,
    information_fractions,
    obrien_fleming,
    spent,
)

FIVE = np.arange(1, 6) / 5
TWENTY_EIGHT = np.arange(1, 29) / 28


def test_lan_demets_boundary_of_five_looks_is_the_published_one() -> None:
    # Reboussin, DeMets, Kim and Lan (2000), Controlled Clinical Trials 21, and R's ldbounds: two-sided 0.05.
    published = [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]
    np.testing.assert_allclose(obrien_fleming(FIVE, 0.05), published, atol=2e-4)


def test_second_critical_value_is_right_to_nine_digits() -> None:
    # By mpmath's adaptive quadrature at 25 digits.
    np.testing.assert_allclose(
        obrien_fleming(FIVE, 0.05)[:2], [4.876884948790766, 3.357011921574646], rtol=1e-9
    )


@pytest.mark.parametrize(
    ("looks", "probability"), [(1, 0.05), (2, 0.083), (3, 0.107), (5, 0.142), (10, 0.193), (20, 0.248)]
)
def test_naive_looks_err_as_often_as_armitage_tabulated(looks: int, probability: float) -> None:
    # Armitage, McPherson and Rowe (1969), JRSS A 132, table 2: repeated tests at the 5% level.
    fractions = np.arange(1, looks + 1) / looks
    assert crossing_probability(fractions, np.full(looks, 1.96))[-1] == pytest.approx(probability, abs=5e-4)


@pytest.mark.parametrize(
    ("critical", "inflation"), [(2.040 / np.sqrt(FIVE), 1.028), (np.full(5, 2.413), 1.228)]
)
def test_obrien_fleming_and_pocock_have_their_published_level_and_inflation(
    critical: list[float], inflation: float
) -> None:
    # Jennison and Turnbull (2000), tables 2.1 to 2.4: K = 5, alpha 0.05, power 0.8.
    assert crossing_probability(FIVE, critical)[-1] == pytest.approx(0.05, abs=5e-5)
    fixed = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert (drift_for_power(FIVE, critical, 0.8) / fixed) ** 2 == pytest.approx(inflation, abs=1e-3)


def test_the_whole_level_is_spent_and_no_more() -> None:
    for alpha in (0.1, 0.05, 0.05 / 19):
        critical = obrien_fleming(TWENTY_EIGHT, alpha)
        assert np.all(np.isfinite(critical))
        np.testing.assert_allclose(
            crossing_probability(TWENTY_EIGHT, critical), spent(TWENTY_EIGHT, alpha), rtol=1e-9, atol=1e-15
        )


def test_uneven_looks_keep_the_level() -> None:
    looks = [0.013, 0.1, 0.1002, 0.8, 0.81, 1.0]
    assert crossing_probability(looks, obrien_fleming(looks, 0.05))[-1] == pytest.approx(0.05, rel=1e-9)


def test_crossing_agrees_with_simulated_walks() -> None:
    rng = np.random.default_rng(1)
    drift, critical = 2.5, obrien_fleming(FIVE, 0.05)
    walks = rng.normal(drift / 5, np.sqrt(1 / 5), (200_000, 5)).cumsum(axis=1)
    crossed = np.logical_or.accumulate(np.abs(walks / np.sqrt(FIVE)) >= critical, axis=1).mean(axis=0)
    np.testing.assert_allclose(crossing_probability(FIVE, critical, drift), crossed, atol=0.005)


def test_one_look_at_the_end_is_the_plain_test() -> None:
    assert obrien_fleming([1.0], 0.05) == pytest.approx(stats.norm.ppf(0.975))
    # P(|N(2.8, 1)| > 1.96).
    assert crossing_probability([1.0], [1.96], 2.8)[0] == pytest.approx(
        stats.norm.sf(1.96 - 2.8) + stats.norm.cdf(-1.96 - 2.8)
    )


def test_drifts_of_any_shape_are_answered_at_once() -> None:
    drifts = np.array([[0.0, 1.0], [2.0, 3.0]])
    together = crossing_probability(FIVE, obrien_fleming(FIVE, 0.05), drifts)
    assert together.shape == (2, 2, 5)
    assert np.all(np.diff(together[..., -1].ravel()) > 0)


@pytest.mark.parametrize("looks", [[], [0.0, 1.0], [0.5, 0.5], [0.6, 0.4], [0.5, 1.2]])
def test_looks_out_of_order_are_refused(looks: list[float]) -> None:
    with pytest.raises(ValueError, match="looks must rise"):
        obrien_fleming(looks, 0.05)


def test_daily_looks_at_an_a_a_test_stay_at_the_level_and_lose_little_power() -> None:
    days, simulations, per_day = np.arange(1, 29), 4_000, 1_000
    critical = obrien_fleming(information_fractions(days * per_day, 28 * per_day), 0.05)[:, None]
    assert critical[0] > 10
    assert 1.96 < critical[-1] < 2.2
    # Monte-Carlo error of 4,000 simulations: 0.0034 at the level.
    rng = np.random.default_rng(1)
    n = days[:, None] * per_day
    control, same, better = (
        rng.binomial(per_day, rate, (28, simulations)).cumsum(axis=0) / n for rate in (0.1, 0.1, 0.1075)
    )

    def z(variant: FloatArray) -> FloatArray:
        variance = (variant * (1 - variant) + control * (1 - control)) / n
        return np.asarray((variant - control) / np.sqrt(variance))

    assert (np.abs(z(same)) > critical).any(axis=0).mean() == pytest.approx(0.05, abs=0.01)
    single = (np.abs(z(better)[-1]) > 1.96).mean()
    assert single - 0.04 < (np.abs(z(better)) > critical).any(axis=0).mean() <= single


def test_overrun_and_idle_looks_have_the_fractions_that_boundaries_need() -> None:
    np.testing.assert_allclose(information_fractions([0, 50, 50, 100, 210, 300], 200), [0.25, 0.5, 1.0])
    assert information_fractions([0], 200).size == 0


@pytest.mark.parametrize("power", [0.1, 0.3, 0.5, 0.95])
def test_the_drift_of_any_power_is_found(power: float) -> None:
    critical = obrien_fleming(FIVE, 0.05)
    drift = drift_for_power(FIVE, critical, power)
    assert crossing_probability(FIVE, critical, drift)[-1] == pytest.approx(power, rel=1e-9)
