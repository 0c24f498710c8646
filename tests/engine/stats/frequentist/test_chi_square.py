"""Pearson's chi-square test against SciPy."""

import numpy as np
import pytest
from scipy import stats

from engine.stats.frequentist.chi_square import MIN_EXPECTED, goodness_of_fit


def test_statistic_and_p_are_scipys() -> None:
    counts, shares = np.array([[480, 520, 1_000], [300, 330, 610]]), np.array([0.25, 0.25, 0.5])
    found = goodness_of_fit(counts, shares)
    for row, total in enumerate(counts.sum(axis=1)):
        theirs = stats.chisquare(counts[row], shares * total)
        assert found.statistic[row] == pytest.approx(theirs.statistic, rel=1e-12)
        assert found.log_p[row] == pytest.approx(np.log(theirs.pvalue), rel=1e-12)
    assert found.df.tolist() == [2, 2]


def test_arms_without_a_share_are_left_out() -> None:
    found = goodness_of_fit([40, 60, 7], [0.5, 0.5, 0.0])
    assert found.statistic == pytest.approx(stats.chisquare([40, 60]).statistic)
    assert found.tested.tolist() == [True, True, False]


def test_rows_with_few_expected_visitors_are_not_tested() -> None:
    found = goodness_of_fit([[MIN_EXPECTED, MIN_EXPECTED], [MIN_EXPECTED, MIN_EXPECTED - 1]], [0.5, 0.5])
    assert found.df.tolist() == [1, 0]
    assert np.isnan(found.log_p[1])
