import mpmath
import numpy as np
import pytest
from scipy import stats

from engine.stats.contingency import Tables
from engine.stats.frequentist.miettinen_nurminen import difference_interval
from engine.stats.frequentist.two_sample import score_z

# Newcombe (1998), "Interval estimation for the difference between independent proportions", Statistics in
# Medicine 17, table II, 95%: conversions and visitors of the variant and of the control.
NEWCOMBE = {
    (56, 70, 48, 80): (0.0528, 0.3382),
    (9, 10, 3, 10): (0.1700, 0.8406),
    (6, 7, 2, 7): (0.0342, 0.8534),
    (5, 56, 0, 29): (-0.0326, 0.1933),
    (0, 10, 0, 20): (-0.1658, 0.2844),
    (0, 10, 0, 10): (-0.2879, 0.2879),
    (10, 10, 0, 20): (0.7156, 1.0000),
    (10, 10, 0, 10): (0.6636, 1.0000),
}


def tables_of(*counts: tuple[int, int, int, int]) -> Tables:
    hits, n, control_hits, control_n = np.array(counts, np.float64).T
    return Tables.of(control_hits, control_n, hits, n)


def test_intervals_are_those_of_newcombes_table() -> None:
    low, high = difference_interval(tables_of(*NEWCOMBE), 0.05)
    expected = np.array(list(NEWCOMBE.values()))
    np.testing.assert_allclose(low, expected[:, 0], atol=5.1e-5)
    np.testing.assert_allclose(high, expected[:, 1], atol=5.1e-5)


def z_by_definition(counts: tuple[int, int, int, int], difference: float) -> float:
    """Maximize the likelihood in fifty digits and take the paper's z."""
    with mpmath.workdps(50):
        x, n, x_c, n_c = (mpmath.mpf(count) for count in counts)
        d, both = mpmath.mpf(difference), mpmath.mpf(counts[1] + counts[3])

        def slope(p: mpmath.mpf) -> mpmath.mpf:
            parts = ((x, p + d), (x - n, 1 - p - d), (x_c, p), (x_c - n_c, 1 - p))
            return mpmath.fsum(count / share for count, share in parts if count)

        edge = mpmath.mpf(10) ** -40
        low, high = max(-d, 0) + edge, min(1 - d, 1) - edge
        for _ in range(150):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        variance = ((low + d) * (1 - low - d) / n + low * (1 - low) / n_c) * both / (both - 1)
        return float((x / n - x_c / n_c - d) / mpmath.sqrt(variance))


@pytest.mark.parametrize(
    "counts",
    [
        (1089, 10_000, 1000, 10_000),
        (3, 10**6, 9, 10**6),
        (999_990, 10**6, 999_980, 10**6),
        (0, 10_000, 5, 10_000),
        (9976, 10_000, 9400, 10_000),
        (50, 1000, 60, 100),
        (56, 70, 48, 80),
    ],
)
@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-3])
def test_bounds_are_where_the_papers_z_is_critical(counts: tuple[int, int, int, int], alpha: float) -> None:
    low, high = difference_interval(tables_of(counts), alpha)
    critical = stats.norm.isf(alpha / 2)
    assert z_by_definition(counts, low[0]) == pytest.approx(critical, rel=1e-6)
    assert z_by_definition(counts, high[0]) == pytest.approx(-critical, rel=1e-6)


def test_arms_and_outcomes_may_be_swapped() -> None:
    rng = np.random.default_rng(3)
    n = rng.integers(1, 3000, (2, 500))
    hits = rng.binomial(n, rng.uniform(0, 1, (2, 500)) ** 3)
    low, high = difference_interval(Tables.of(hits[0], n[0], hits[1], n[1]), 0.05)
    for swapped in (
        Tables.of(hits[1], n[1], hits[0], n[0]),
        Tables.of(n[0] - hits[0], n[0], n[1] - hits[1], n[1]),
    ):
        other_low, other_high = difference_interval(swapped, 0.05)
        np.testing.assert_allclose(other_low, -high, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(other_high, -low, rtol=1e-6, atol=1e-9)
    assert ((low >= -1) & (low <= high) & (high <= 1)).all()


def test_zero_is_left_out_where_the_score_test_is_significant() -> None:
    hits = np.arange(880, 1130)
    tables = Tables.of(1000, 10_000, hits, 10_000)
    low, high = difference_interval(tables, 0.05)
    z = np.abs(score_z(tables)) * np.sqrt(19_999 / 20_000)
    np.testing.assert_array_equal((low > 0) | (high < 0), z > stats.norm.isf(0.025))


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    hits, control_hits = rng.binomial(2000, 0.012, 20_000), rng.binomial(500, 0.01, 20_000)
    low, high = difference_interval(Tables.of(control_hits, 500, hits, 2000), 0.05)
    assert ((low <= 0.002) & (high >= 0.002)).mean() == pytest.approx(0.95, abs=0.01)


def test_each_cell_may_have_its_own_level_and_no_visitors_no_interval() -> None:
    tables = tables_of((56, 70, 48, 80), (56, 70, 48, 80), (0, 0, 1, 10))
    low, _ = difference_interval(tables, np.array([0.05, 0.5, 0.05]))
    assert low[0] < low[1]
    assert np.isnan(low[2])
