"""Fisher's exact test with mid-p, from SciPy's hypergeometric distribution summed by hand."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from engine.stats.contingency import Tables
from engine.stats.frequentist.fisher_exact import SMALL_CELL, lift_interval, log_p_mid


def p_of(hits: int, n: int, control_hits: int, control_n: int) -> float:
    return float(np.exp(log_p_mid(Tables.of([control_hits], [control_n], [hits], [n])))[0])


def mid_p_by_hand(hits: int, n: int, control_hits: int, control_n: int) -> float:
    law = stats.hypergeom(n + control_n, hits + control_hits, n)
    half = 0.5 * law.pmf(hits)
    return float(min(1.0, 2 * min(law.cdf(hits - 1) + half, law.sf(hits) + half)))


def test_ten_against_one_of_a_thousand_agrees_with_its_mirror() -> None:
    # Fisher's two-sided p is 0.011505 (scipy.stats.fisher_exact); mid-p takes half of the observed table off.
    assert p_of(10, 1000, 1, 1000) == p_of(1, 1000, 10, 1000)
    assert p_of(10, 1000, 1, 1000) == pytest.approx(mid_p_by_hand(10, 1000, 1, 1000), rel=1e-11)
    assert p_of(10, 1000, 1, 1000) < stats.fisher_exact(np.array([[10, 990], [1, 999]])).pvalue


@given(st.data())
def test_mid_p_is_the_tail_and_half_the_table(data: st.DataObject) -> None:
    n, control_n = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 300))
    hits, control_hits = data.draw(st.integers(0, n)), data.draw(st.integers(0, control_n))
    assume(min(hits, n - hits, control_hits, control_n - control_hits) < SMALL_CELL)
    by_hand = mid_p_by_hand(hits, n, control_hits, control_n)
    assert p_of(hits, n, control_hits, control_n) == pytest.approx(by_hand, rel=1e-9)


def test_nobody_or_everybody_converting_says_nothing() -> None:
    assert p_of(0, 100, 0, 200) == 1.0
    assert p_of(100, 100, 200, 200) == 1.0


def test_a_small_cell_beside_millions_keeps_its_digits() -> None:
    found = log_p_mid(Tables.of([10], [10_000_000], [9], [10]))[0]
    law = stats.hypergeom(10_000_010, 19, 10)
    assert found == pytest.approx(np.log(2) + np.log(law.pmf(9) / 2 + law.pmf(10)), rel=1e-9)
    assert np.isfinite(log_p_mid(Tables.of([4_000_000], [10_000_000], [2], [10_000_000])))[0]


def test_interval_gives_the_tail_it_promises() -> None:
    # At each bound of the odds ratio the tail's mid-p is alpha/2, in SciPy's noncentral hypergeometric law.
    low, high = lift_interval(Tables.of([20], [400], [6], [400]), 0.05)
    for lift, tail in ((low[0], "upper"), (high[0], "lower")):
        # The two rates with this lift that keep the 26 conversions give back the odds ratio.
        control = 26 / 400 / (2 + lift)
        variant = control * (1 + lift)
        odds = variant / (1 - variant) / (control / (1 - control))
        law = stats.nchypergeom_fisher(800, 26, 400, odds)
        mid = 0.5 * law.pmf(6) + (law.cdf(5) if tail == "lower" else law.sf(6))
        assert mid == pytest.approx(0.025, rel=1e-6)


@given(st.data())
def test_interval_leaves_out_no_difference_exactly_where_the_test_rejects(data: st.DataObject) -> None:
    n, control_n = data.draw(st.integers(1, 2000)), data.draw(st.integers(1, 2000))
    hits, control_hits = data.draw(st.integers(0, min(n, 40))), data.draw(st.integers(0, min(control_n, 40)))
    alpha = data.draw(st.sampled_from([0.2, 0.05, 0.01, 0.0005]))
    tables = Tables.of([control_hits], [control_n], [hits], [n])
    assume(tables.smallest_cell[0] < SMALL_CELL)
    assume(control_hits > 0 or hits > 0)
    low, high = lift_interval(tables, alpha)
    p = np.exp(log_p_mid(tables)[0])
    assume(abs(p - alpha) > 1e-9)
    assert low[0] <= high[0]
    assert (p < alpha) == (low[0] > 0 or high[0] < 0)


def test_bounds_are_open_where_nothing_bounds_them() -> None:
    low, high = lift_interval(Tables.of([8, 0], [100, 100], [0, 8], [100, 100]), 0.05)
    assert low[0] == -1
    assert high[0] < 0
    assert low[1] > 0
    assert high[1] == np.inf
