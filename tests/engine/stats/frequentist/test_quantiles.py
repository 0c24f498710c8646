import numpy as np
import pytest
from scipy import stats

from engine.stats.frequentist.quantiles import estimate_quantiles
from engine.stats.frequentist.two_sample import compare_means


def test_standard_error_is_the_asymptotic_one() -> None:
    # sqrt(q (1 - q) / n) / f(x_q), Kendall and Stuart (1977), section 10.10.
    rng = np.random.default_rng(1)
    shares = np.array([0.1, 0.5, 0.9])
    errors = [np.sqrt(estimate_quantiles(rng.lognormal(0, 1, 2_000), shares).variance) for _ in range(300)]
    point = stats.lognorm.ppf(shares, 1)
    expected = np.sqrt(shares * (1 - shares) / 2_000) / stats.lognorm.pdf(point, 1)
    np.testing.assert_allclose(np.mean(errors, axis=0), expected, rtol=0.05)


@pytest.mark.long(seconds=4)
def test_an_a_a_test_of_medians_and_of_tails_stays_at_its_level() -> None:
    rng = np.random.default_rng(2)
    shares = np.array([0.5, 0.95])
    significant = [
        compare_means(
            estimate_quantiles(rng.lognormal(3, 1.2, 1_500), shares),
            estimate_quantiles(rng.lognormal(3, 1.2, 1_000), shares),
            0.05,
        ).log_p
        < np.log(0.05)
        for _ in range(2_000)
    ]
    np.testing.assert_allclose(np.mean(significant, axis=0), 0.05, atol=0.018)


def test_quantile_is_numpys_of_the_same_definition() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 16.0] * 20
    assert estimate_quantiles(values, 0.5).value == np.quantile(values, 0.5, method="median_unbiased")


def test_a_heap_of_zeros_has_a_median_and_no_test() -> None:
    estimate = estimate_quantiles([0.0] * 95 + [10.0] * 5, [0.5])
    assert estimate.value[0] == 0.0
    assert estimate.variance[0] == 0.0
    assert np.isnan(estimate.minus(estimate).z[0])


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0]])
def test_too_few_visitors_have_no_extreme_quantile(values: list[float]) -> None:
    estimate = estimate_quantiles(values, [0.99])
    assert not estimate.defined.any()


def test_the_largest_value_is_no_quantile() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        estimate_quantiles([1.0, 2.0], 1.0)
