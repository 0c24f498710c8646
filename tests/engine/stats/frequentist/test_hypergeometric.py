"""Table probabilities against exact fractions of whole numbers."""

from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stats.frequentist.hypergeometric import log_hypergeometric, log_overlap, stirling_error


def log_p(*counts: float) -> float:
    return float(log_hypergeometric(*(np.array([float(count)]) for count in counts))[0])


@given(st.data())
def test_probabilities_are_the_exact_fractions(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 400))
    row, column = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    x = data.draw(st.integers(max(0, row + column - total), min(row, column)))
    exact = Fraction(comb(row, x) * comb(total - row, column - x), comb(total, column))
    assert np.exp(log_p(x, row, column, total)) == pytest.approx(float(exact), rel=1e-12)


def test_no_digits_are_lost_to_large_factorials() -> None:
    with mpmath.workdps(60):
        ways = [mpmath.binomial(10**9, 5), mpmath.binomial(2 * 10**9, 95), mpmath.binomial(3 * 10**9, 100)]
        exact = float(mpmath.log(ways[0] * ways[1] / ways[2]))
    assert log_p(5, 1e9, 100, 3e9) == pytest.approx(exact, rel=1e-13)


def test_impossible_tables_have_no_probability() -> None:
    assert log_p(5, 4, 10, 20) == -np.inf
    assert log_p(-1, 4, 10, 20) == -np.inf


def test_overlap_of_large_betas_is_mpmaths() -> None:
    a, b, c, d = 120_001, 9_880_001, 121_000, 9_879_002
    with mpmath.workdps(60):
        exact = mpmath.beta(a + c, b + d) / (mpmath.beta(a, b) * mpmath.beta(c, d))
    found = log_overlap(*(np.array([float(shape)]) for shape in (a, b, c, d)))[0]
    assert found == pytest.approx(float(mpmath.log(exact)), rel=1e-11)


@pytest.mark.parametrize("n", [1.0, 15.0, 16.0, 17.0, 1000.0])
def test_stirlings_error_is_what_he_leaves_out(n: float) -> None:
    with mpmath.workdps(40):
        stirling = (n + mpmath.mpf("0.5")) * mpmath.log(n) - n + mpmath.log(2 * mpmath.pi) / 2
        exact = float(mpmath.loggamma(n + 1) - stirling)
    assert stirling_error(np.array([n]))[0] == pytest.approx(exact, rel=1e-12)
