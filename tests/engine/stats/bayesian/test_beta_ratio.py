"""Quantiles of a ratio of Betas against closed forms."""

import numpy as np
import pytest
from scipy import stats

from engine.stats.bayesian.beta import Beta
from engine.stats.bayesian.beta_ratio import ratios_with_chance


def a_beta(a: float, b: float) -> Beta:
    return Beta(np.array([a]), np.array([b]))


@pytest.mark.parametrize(("a", "c"), [(3.0, 2.0), (20.0, 30.0), (1.0, 1.0)])
def test_ratios_of_powers_of_uniforms_have_their_closed_form(a: float, c: float) -> None:
    # X ~ Beta(a, 1), Y ~ Beta(c, 1): P(X > r Y) = 1 - r^a c / (a + c) for r <= 1.
    for r in (0.5, 0.9):
        chance = 1.0 - r**a * c / (a + c)
        (found,) = ratios_with_chance(a_beta(a, 1.0), a_beta(c, 1.0), [chance])
        assert found[0] == pytest.approx(r, rel=1e-9)


def test_ratios_of_rare_conversions_are_those_of_gamma_variables() -> None:
    # With b and d large, Beta(a, b) is Gamma(a) / b, and a ratio of Gammas is c/a times an F variable.
    a, c, size = 12.0, 20.0, 1e9
    for chance in (0.975, 0.5, 0.025):
        (found,) = ratios_with_chance(a_beta(a, size), a_beta(c, size), [chance])
        assert found[0] == pytest.approx(a / c * stats.f(2 * a, 2 * c).isf(chance), rel=1e-6)
