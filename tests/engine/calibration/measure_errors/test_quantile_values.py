"""Quantiles of simulated values are those of the distributions of SciPy."""

import numpy as np
import pytest
import scipy.stats

from engine.calibration.measure_errors.quantile_values import (
    quantiles_of_lognormal,
    quantiles_of_poisson,
    quantiles_of_seconds,
    quantiles_of_two_modes,
    quantiles_with_zeros,
)

SHARES = np.array([0.01, 0.2, 0.5, 0.59, 0.61, 0.9, 0.999])


def test_values_have_the_quantiles_of_their_distribution() -> None:
    lognormal = scipy.stats.lognorm(0.8, scale=8.0 * 1.1).ppf(SHARES)
    assert quantiles_of_lognormal(8.0, 0.8)(SHARES, 1.1) == pytest.approx(lognormal)
    assert quantiles_of_seconds(SHARES, 1.1).tolist() == np.ceil(lognormal).tolist()
    poisson = quantiles_of_poisson(2.67)
    for factor in (1.0, 1.1):
        assert poisson(SHARES, factor).tolist() == scipy.stats.poisson(2.67 * factor).ppf(SHARES).tolist()


def test_mixtures_have_the_shares_of_their_parts_below_each_quantile() -> None:
    modes = quantiles_of_two_modes(SHARES, 2.0)
    below = 0.6 * scipy.stats.norm(20, 2).cdf(modes) + 0.4 * scipy.stats.norm(60, 6).cdf(modes)
    assert below == pytest.approx(SHARES, abs=1e-6)
    zeros = quantiles_with_zeros(SHARES, 3.0)
    assert zeros[:3].tolist() == [0, 0, 0]
    assert 0.55 + 0.45 * scipy.stats.lognorm(1.0, scale=3.0).cdf(zeros[3:]) == pytest.approx(SHARES[3:])
