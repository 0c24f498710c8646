import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from engine.stats.frequentist.wilson import share_interval

# Newcombe (1998), "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17,
# table I, method 3, 95%.
NEWCOMBE = {
    (81, 263): (0.2553, 0.3662),
    (15, 148): (0.0624, 0.1605),
    (0, 20): (0.0000, 0.1611),
    (1, 29): (0.0061, 0.1718),
}


@pytest.mark.parametrize("counts", NEWCOMBE)
def test_intervals_are_those_of_newcombes_table(counts: tuple[int, int]) -> None:
    assert share_interval(*counts, 0.05) == pytest.approx(NEWCOMBE[counts], abs=5e-5)


def test_intervals_agree_with_statsmodels_at_every_level() -> None:
    n = np.array([1, 7, 100, 10**4, 10**8])[:, None]
    hits = np.floor(n * np.array([0.0, 1e-3, 0.3, 0.5, 0.9999, 1.0]))
    for alpha in (0.5, 0.05, 1e-4):
        expected = proportion_confint(hits, n, alpha, method="wilson")
        np.testing.assert_allclose(share_interval(hits, n, alpha), expected, rtol=1e-12, atol=1e-15)


def test_nothing_and_everything_end_exactly_at_the_edges() -> None:
    assert share_interval(0, 50, 0.05)[0] == 0.0
    assert share_interval(50, 50, 0.05)[1] == 1.0


def test_without_visitors_there_is_no_interval() -> None:
    low, high = share_interval([0, 1], [0, 10], 0.05)
    assert np.isnan([low[0], high[0]]).all()
    assert not np.isnan([low[1], high[1]]).any()
