import numpy as np
import pytest
from scipy import integrate, stats

from engine.stats.sequential.conversion_split import CONCENTRATION, log_p_split


def test_bayes_factor_is_that_of_the_integrated_likelihood() -> None:
    share = 0.3
    a, b = CONCENTRATION * share, CONCENTRATION * (1 - share)
    marginal, _ = integrate.quad(
        lambda p: stats.binom.pmf(9, 12, p) * stats.beta.pdf(p, a, b), 0, 1, limit=200
    )
    expected = np.log(stats.binom.pmf(9, 12, share) / marginal)
    assert log_p_split(3, 7_000, 9, 3_000) == pytest.approx(expected, rel=1e-6)


def test_forty_errors_against_none_are_no_chance() -> None:
    assert log_p_split(0, 10_000, 40, 10_000) < np.log(1e-9)


def test_few_conversions_or_none_are_no_evidence() -> None:
    np.testing.assert_array_equal(log_p_split([0, 0], [10, 0], [0, 0], [10, 0]), [0.0, 0.0])
    assert log_p_split(0, 1000, 2, 1000) > np.log(0.05)


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_looking_after_every_conversion_errs_as_rarely_as_promised(ratio: float) -> None:
    rng, runs, hits = np.random.default_rng(11), 20_000, 40
    is_variant = rng.random((runs, hits)) < ratio / (1 + ratio)
    variant = is_variant.cumsum(axis=1)
    control = np.arange(1, hits + 1) - variant
    log_p = log_p_split(control, 10_000, variant, 10_000, ratio=ratio)
    assert (log_p <= np.log(0.05)).any(axis=1).mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
