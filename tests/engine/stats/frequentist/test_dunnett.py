from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special, stats

from engine.stats.arrays import FloatArray
from engine.stats.frequentist.dunnett import critical_dunnett, log_p_dunnett, shared_noise
from engine.stats.log_p_values import log_p_normal


def test_critical_values_are_those_of_dunnetts_table() -> None:
    # Dunnett (1964), Biometrics 20, two-sided 0.05 and 0.01, infinite degrees of freedom, 1 to 9 treatments.
    table = {
        0.05: [1.96, 2.21, 2.35, 2.44, 2.51, 2.57, 2.61, 2.65, 2.69],
        0.01: [2.58, 2.79, 2.92, 3.00, 3.06, 3.11, 3.15, 3.19, 3.22],
    }
    for alpha, row in table.items():
        critical = [critical_dunnett(alpha, np.full(k, 0.5)).item() for k in range(1, 10)]
        np.testing.assert_allclose(critical, row, atol=0.0101)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 2, 5, 0.3), (10, 1, 1)])
def test_unequal_arms_agree_with_the_multivariate_normal(sizes: tuple[float, ...]) -> None:
    control, *arms = sizes
    shared = shared_noise(1 / control, 1 / np.array(arms, np.float64))
    correlation = np.sqrt(np.outer(shared, shared))
    np.fill_diagonal(correlation, 1.0)
    for z in (0.5, 1.5, 2.5):
        limits = np.full(len(arms), z)
        inside = stats.multivariate_normal.cdf(
            limits, cov=correlation, lower_limit=-limits, abseps=1e-7, releps=1e-7, maxpts=10**7
        )
        adjusted = np.exp(log_p_dunnett(np.full(len(arms), z), shared))
        np.testing.assert_allclose(adjusted, 1 - inside, atol=2e-6)


def test_samples_agree_with_scipys_dunnett() -> None:
    rng = np.random.default_rng(1)
    control = rng.standard_normal(4_000)
    arms = [rng.standard_normal(4_000) + shift for shift in (0.02, 0.05, 0.06)]
    expected = stats.dunnett(*arms, control=control, rng=2)
    shared = shared_noise(1 / 4_000, np.full(3, 1 / 4_000))
    np.testing.assert_allclose(np.exp(log_p_dunnett(expected.statistic, shared)), expected.pvalue, atol=1e-3)


def test_one_variant_pays_nothing() -> None:
    z = np.array([[0.0], [1.96], [5.0], [30.0], [200.0]])
    np.testing.assert_allclose(log_p_dunnett(z, np.full((5, 1), 0.5)), log_p_normal(z), rtol=1e-9, atol=1e-12)


def test_several_pay_less_than_bonferroni_asks() -> None:
    z = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 40.0]])
    adjusted, alone = log_p_dunnett(z, np.full((2, 3), 0.5)), log_p_normal(z)
    assert np.all(adjusted > alone)
    assert np.all(adjusted <= alone + np.log(3) + 1e-9)


def test_variants_that_are_not_there_count_for_nothing() -> None:
    shared = np.array([0.5, np.nan, 0.5])
    adjusted = log_p_dunnett(np.array([2.0, 1.0, 2.5]), shared)
    assert np.isnan(adjusted[1])
    np.testing.assert_allclose(adjusted[[0, 2]], log_p_dunnett(np.array([2.0, 2.5]), np.full(2, 0.5)))
    assert np.isnan(critical_dunnett(0.05, np.full(2, np.nan)))


def test_p_and_critical_value_agree() -> None:
    shared = np.random.default_rng(2).uniform(0.1, 0.9, (20, 4))
    critical = critical_dunnett(0.05, shared)
    np.testing.assert_allclose(
        log_p_dunnett(np.repeat(critical[:, None], 4, axis=1), shared), np.log(0.05), rtol=1e-9
    )


def integrated_p(z: float, shared: FloatArray) -> float:
    """Integrate 1 - E[Π (Φ((z - √s U) / √(1-s)) - Φ((-z - √s U) / √(1-s)))], Dunnett (1955), by SciPy."""
    root, left = np.sqrt(shared), np.sqrt(1.0 - shared)

    def beyond(noise: float) -> float:
        each = special.ndtr((root * noise - z) / left) + special.ndtr((-z - root * noise) / left)
        with np.errstate(divide="ignore"):
            return float(-np.expm1(np.log1p(-each).sum()) * stats.norm.pdf(noise))

    marks = np.unique(np.clip(np.r_[0.0, z / root, z * root, 12.0], 0.0, 12.0))
    return 2.0 * sum(integrate.quad(beyond, *ends, epsabs=1e-16, epsrel=1e-12)[0] for ends in pairwise(marks))


@pytest.mark.parametrize(("low", "high"), [(0.001, 0.01), (0.3, 0.7), (0.05, 0.95), (0.9, 0.99)])
def test_p_is_the_integral_over_the_controls_noise(low: float, high: float) -> None:
    rng = np.random.default_rng(3)
    for z in (0.3, 1.0, 2.5, 5.0):
        shared = rng.uniform(low, high, 4)
        found = np.exp(log_p_dunnett(np.full(4, z), shared))
        np.testing.assert_allclose(found, integrated_p(z, shared), rtol=2e-9)


def test_logs_and_probabilities_meet_where_one_takes_over() -> None:
    shared = np.random.default_rng(4).uniform(0.1, 0.99, (50, 3))
    before, after = (log_p_dunnett(np.full((50, 3), z), shared) for z in (30.0, np.nextafter(30.0, 31.0)))
    np.testing.assert_allclose(before, after, rtol=1e-12)
