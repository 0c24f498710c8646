import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

from engine.stats.bayesian.best_arm import best_of_means, best_of_shares


def test_two_shares_agree_with_cooks_exact_sum() -> None:
    # Cook (2005) by mpmath: P(B > A) = sum_i B(a_A + i, b_A + b_B) / ((b_B + i) B(1 + i, b_B) B(a_A, b_A)).
    a, b, c, d = 118 + 1, 1412 - 118 + 1, 142 + 1, 1403 - 142 + 1
    exact = mpmath.fsum(
        mpmath.beta(a + i, b + d) / ((d + i) * mpmath.beta(1 + i, d) * mpmath.beta(a, b)) for i in range(c)
    )
    best = best_of_shares([118, 142], [1412, 1403])
    assert best.chance[1] == pytest.approx(float(exact), abs=1e-10)


def test_three_unequal_shares_agree_with_adaptive_quadrature() -> None:
    hits, n = np.array([30, 3, 5_200]), np.array([400, 20, 70_000])
    first, second, third = stats.beta(31, 371), stats.beta(4, 18), stats.beta(5_201, 64_801)

    def beats(x: float) -> float:
        return float(first.pdf(x) * second.cdf(x) * third.cdf(x))

    expected, _ = integrate.quad(
        beats, 0.0, 0.3, points=[0.07, 0.072, 0.074, 0.076, 0.08], epsabs=1e-12, limit=500
    )
    assert best_of_shares(hits, n).chance[0] == pytest.approx(expected, abs=1e-9)


def test_two_means_are_one_normal_variable() -> None:
    # P(T > C) = Phi(gap / s), E[max(C - T, 0)] = s phi(gap / s) - gap Phi(-gap / s).
    best = best_of_means([[5.0, 5.3]], [[0.04, 0.09]])
    spread, gap = np.sqrt(0.13), 0.3
    assert best.chance[0, 1] == pytest.approx(special.ndtr(gap / spread), abs=1e-12)
    loss = spread * np.exp(-0.5 * (gap / spread) ** 2) / np.sqrt(2 * np.pi) - gap * special.ndtr(
        -gap / spread
    )
    assert best.loss[0, 1] == pytest.approx(loss, rel=1e-10)


def test_chances_and_losses_are_those_of_a_million_draws() -> None:
    rng = np.random.default_rng(1)
    hits, n = np.array([50, 61, 40, 300]), np.array([1_000, 1_000, 700, 5_500])
    draws = rng.beta(hits + 1, n - hits + 1, (1_000_000, 4))
    best = best_of_shares(hits, n)
    np.testing.assert_allclose(best.chance, np.bincount(draws.argmax(axis=1)) / 1e6, atol=0.002)
    np.testing.assert_allclose(best.loss, (draws.max(axis=1, keepdims=True) - draws).mean(axis=0), rtol=0.005)


@pytest.mark.parametrize("scale", [1, 1_000, 1_000_000])
def test_chances_add_up_to_one_however_much_is_known(scale: int) -> None:
    hits, n = (
        np.array([[50, 51, 0], [10, 10, 10]]) * scale,
        np.array([[1_000, 1_000, 10], [100, 200, 300]]) * scale,
    )
    np.testing.assert_allclose(best_of_shares(hits, n).chance.sum(axis=-1), 1.0, atol=1e-9)


def test_equal_arms_share_the_chance() -> None:
    np.testing.assert_allclose(best_of_shares([7] * 5, [90] * 5).chance, 0.2, atol=1e-12)


def test_a_hopeless_arm_costs_its_whole_gap_and_a_sure_one_nothing() -> None:
    best = best_of_shares([100_000, 200_000], [1_000_000, 1_000_000])
    assert best.loss[0] == pytest.approx(0.1, rel=1e-4)
    assert 0.0 <= best.loss[1] < 1e-15
    assert best.chance[1] == pytest.approx(1.0)


def test_without_data_every_arm_is_as_likely() -> None:
    np.testing.assert_allclose(best_of_shares([0, 0, 0], [0, 0, 0]).chance, 1 / 3)


def test_arms_that_nothing_is_known_about_compete_with_nobody() -> None:
    gap = best_of_means([1.0, np.nan, 1.2], [0.01, np.nan, 0.01])
    np.testing.assert_allclose(gap.chance[[0, 2]], best_of_means([1.0, 1.2], [0.01, 0.01]).chance)
    assert np.isnan(gap.chance[1])
    assert np.isnan(best_of_means([0.0, 0.0], [0.0, np.nan]).chance).all()


def test_priors_that_bend_the_density_upwards_at_its_ends_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        best_of_shares([1, 2], [10, 10], prior=(0.5, 0.5))
