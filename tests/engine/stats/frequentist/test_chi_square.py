import numpy as np
import pytest
from scipy import stats

from engine.stats.frequentist.chi_square import MIN_EXPECTED, goodness_of_fit


def test_statistic_and_p_are_scipys() -> None:
    rows = np.array([[480, 520, 0], [260, 240, 0]])
    test = goodness_of_fit(rows, [0.5, 0.5, 0.0])
    expected = [stats.chisquare(row[:2]) for row in rows]
    assert test.statistic == pytest.approx([one.statistic for one in expected])
    assert np.exp(test.log_p) == pytest.approx([one.pvalue for one in expected])
    assert test.df.tolist() == [1, 1]


def test_small_rows_and_single_arms_are_not_tested() -> None:
    few = 2 * MIN_EXPECTED - 1
    assert np.isnan(goodness_of_fit([[few, 0]], [0.5, 0.5]).log_p).all()
    assert not goodness_of_fit([[500, 0]], [1.0, 0.0]).tested.any()


def test_an_impossible_split_has_a_finite_log_p() -> None:
    assert np.isfinite(goodness_of_fit([[10**7, 0]], [0.5, 0.5]).log_p).all()
