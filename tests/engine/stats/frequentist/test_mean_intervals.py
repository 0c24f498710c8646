import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from engine.stats.estimates import Estimate
from engine.stats.frequentist.mean_intervals import mean_difference_interval, mean_interval
from engine.stats.frequentist.two_sample import compare_means
from engine.stats.moments import Moments

RNG = np.random.default_rng(5)
CONTROL, VARIANT = RNG.lognormal(0, 1, 40), RNG.lognormal(0.3, 1.2, 25)


def estimate(values: np.ndarray) -> Estimate:
    return Estimate.of(Moments.of(values[None]))


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-3])
def test_a_mean_has_scipys_interval(alpha: float) -> None:
    expected = stats.ttest_1samp(VARIANT, 0).confidence_interval(1 - alpha)
    low, high = mean_interval(estimate(VARIANT), alpha)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), rel=1e-12)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-3])
def test_a_difference_of_means_has_statsmodels_interval(alpha: float) -> None:
    both = CompareMeans(DescrStatsW(VARIANT), DescrStatsW(CONTROL))
    expected = both.tconfint_diff(alpha, usevar="unequal")
    low, high = mean_difference_interval(estimate(CONTROL), estimate(VARIANT), alpha)
    assert (low[0], high[0]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-3])
def test_a_skewed_difference_leaves_out_0_exactly_where_its_test_is_significant(alpha: float) -> None:
    shifts = np.linspace(-2.0, 2.0, 401)
    control = estimate(CONTROL)
    significant = []
    for shift in shifts.tolist():
        variant = estimate(VARIANT + shift)
        low, high = mean_difference_interval(control, variant, alpha, 0.4)
        outside = bool(low[0] > 0 or high[0] < 0)
        assert outside == bool(compare_means(control, variant, alpha, 0.4).log_p[0] < np.log(alpha))
        significant.append(outside)
    assert 0 < sum(significant) < len(significant)


def test_values_that_do_not_vary_have_no_interval() -> None:
    same, one = estimate(np.zeros(9)), estimate(np.ones(1))
    for low, high in (mean_interval(same, 0.05), mean_interval(one, 0.05)):
        assert np.isnan([low[0], high[0]]).all()
    assert np.isnan(mean_difference_interval(same, same, 0.05)[0]).all()
    assert np.isnan(mean_difference_interval(same, one, 0.05)[0]).all()
