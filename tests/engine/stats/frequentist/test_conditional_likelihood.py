import numpy as np
import pytest
from scipy import optimize, stats

from engine.stats.frequentist.conditional_likelihood import correct_selected


@pytest.mark.parametrize(("z", "critical"), [(2.0, 1.96), (2.5, 1.96), (-3.4, 3.0), (8.0, 3.0)])
def test_estimate_maximizes_the_conditional_likelihood(z: float, critical: float) -> None:
    def minus_log_likelihood(mean: float) -> float:
        selected = stats.norm.sf(critical - mean) + stats.norm.cdf(-critical - mean)
        return float(np.log(selected) - stats.norm.logpdf(z - mean))

    best = optimize.minimize_scalar(
        minus_log_likelihood, bounds=(min(0.0, z), max(0.0, z)), method="bounded"
    ).x
    assert correct_selected(z, critical, 0.05).estimate == pytest.approx(best, abs=1e-4)


def test_bounds_invert_the_conditional_distribution() -> None:
    found = correct_selected(2.7, 2.2, 0.05)
    for mean, below in ((found.low, 0.975), (found.high, 0.025)):
        selected = stats.norm.sf(2.2 - mean) + stats.norm.cdf(-2.2 - mean)
        assert 1 - stats.norm.sf(2.7 - mean) / selected == pytest.approx(below, abs=1e-9)


def test_interval_of_selected_means_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(1.5, 1.0, 4_000)
    chosen = z[np.abs(z) >= 1.96]
    found = [correct_selected(value, 1.96, 0.05) for value in chosen.tolist()]
    assert np.mean([one.low <= 1.5 <= one.high for one in found]) == pytest.approx(0.95, abs=0.015)
    # The plain estimate of what was selected is 2.7 on average, of a true 1.5.
    assert chosen.mean() > 2.6
    assert np.mean([one.estimate for one in found]) == pytest.approx(1.5, abs=0.25)


def test_far_beyond_the_critical_value_nothing_is_corrected() -> None:
    found = correct_selected(30.0, 2.0, 0.05)
    assert (found.low, found.estimate, found.high) == pytest.approx((28.04, 30.0, 31.96), abs=0.005)


def test_sign_of_z_mirrors_the_result_and_below_the_critical_value_it_counts_as_reached() -> None:
    up, down = correct_selected(2.5, 2.0, 0.1), correct_selected(-2.5, 2.0, 0.1)
    assert (down.low, down.estimate, down.high) == (-up.high, -up.estimate, -up.low)
    assert correct_selected(1.0, 2.0, 0.1).high == correct_selected(2.0, 2.0, 0.1).high
    assert 0 <= correct_selected(1.0, 2.0, 0.1).estimate <= 1.0
