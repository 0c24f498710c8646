"""Tests of shares and means against SciPy and statsmodels, and the duality of tests and intervals."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist.two_sample import (
    Comparison,
    compare_means,
    compare_shares,
    fieller,
)
from engine.stats.moments import Moments

ALPHA = 0.05


def shares(control_hits: int, control_n: int, hits: int, n: int, alpha: float = ALPHA) -> Comparison:
    return compare_shares(Tables.of([control_hits], [control_n], [hits], [n]), alpha)


def means(control: np.ndarray, treatment: np.ndarray, alpha: float = ALPHA) -> Comparison:
    return compare_means(
        Estimate.of(Moments.of(control[None])), Estimate.of(Moments.of(treatment[None])), alpha
    )


# The published landing-page experiment, and both e-mails of the Hillstrom data, as counts.
@pytest.mark.parametrize(
    ("counts", "z", "p"),
    [
        ((3516, 28806, 3421, 28798), -1.2038566506704, 0.228644989175),
        ((2262, 21306, 3894, 21307), 22.4860408271928, 5.685e-112),
        ((122, 21306, 267, 21307), 7.38511441092577, 1.523e-13),
        # statsmodels 0.15, proportions_ztest.
        ((122, 21306, 189, 21387), 3.77956095835785, 1.5710512910668e-04),
    ],
)
def test_published_experiments_have_their_published_p(
    counts: tuple[int, int, int, int], z: float, p: float
) -> None:
    found = shares(*counts)
    assert found.statistic[0] == pytest.approx(z, rel=1e-12)
    assert np.exp(found.log_p[0]) == pytest.approx(p, rel=5e-4 if p < 1e-10 else 1e-9)


@given(st.integers(200, 10**7), st.integers(200, 10**7), st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_z_is_statsmodels(control_n: int, n: int, control_rate: float, rate: float) -> None:
    control_hits, hits = round(control_n * control_rate), round(n * rate)
    z, p = proportions_ztest([hits, control_hits], [n, control_n])
    found = shares(control_hits, control_n, hits, n)
    assert found.statistic[0] == pytest.approx(z, rel=1e-9, abs=1e-9)
    if p > 1e-300:
        assert found.log_p[0] == pytest.approx(np.log(p), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("counts", [(3516, 28806, 3421, 28798), (40, 900, 75, 1400), (300, 400, 500, 600)])
def test_ratio_interval_is_statsmodels_score_interval(counts: tuple[int, int, int, int]) -> None:
    control_hits, control_n, hits, n = counts
    low, high = confint_proportions_2indep(
        hits, n, control_hits, control_n, compare="ratio", method="score", correction=False
    )
    found = shares(*counts)
    assert (found.low[0] + 1, found.high[0] + 1) == pytest.approx((low, high), rel=1e-6)


@given(st.data())
def test_interval_of_shares_agrees_with_its_test(data: st.DataObject) -> None:
    n, control_n = data.draw(st.integers(1, 10**6)), data.draw(st.integers(1, 10**6))
    rate = data.draw(st.floats(0, 1))
    control_hits = round(rate * control_n)
    hits = data.draw(st.integers(max(0, round(rate * n) - 300), min(n, round(rate * n) + 300)))
    alpha = data.draw(st.sampled_from([0.2, 0.05, 0.0025]))
    found = shares(control_hits, control_n, hits, n, alpha)
    assume(abs(found.log_p[0] - np.log(alpha)) > 1e-7)
    if control_hits == 0:
        assert np.isnan(found.low[0])
    else:
        assert (found.log_p[0] < np.log(alpha)) == (found.low[0] > 0 or found.high[0] < 0)


def test_interval_holds_the_true_lift_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    n = np.full(20_000, 1500)
    tables = Tables.of(rng.binomial(n, 0.04), n, rng.binomial(n, 0.06), n)
    found = compare_shares(tables, ALPHA)
    assert np.mean((found.low < 0.5) & (found.high > 0.5)) == pytest.approx(0.95, abs=0.006)


@pytest.mark.parametrize("rate", [0.004, 0.05, 0.5])
def test_a_a_tests_alarm_as_often_as_they_say(rate: float) -> None:
    rng = np.random.default_rng(5)
    n = np.full(20_000, 2000)
    found = compare_shares(Tables.of(rng.binomial(n, rate), n, rng.binomial(n, rate), n), ALPHA)
    # Few conversions come in whole numbers, which leaves the exact test a little below its level.
    assert 0.03 < np.mean(found.log_p < np.log(ALPHA)) < 0.054


def test_zero_against_eight_of_a_hundred_has_an_answer() -> None:
    found = shares(0, 100, 8, 100)
    assert np.exp(found.log_p[0]) == pytest.approx(stats.hypergeom.pmf(0, 200, 8, 100), rel=1e-11)
    assert np.isnan(found.low[0])


def test_no_visitors_have_no_statistic() -> None:
    found = compare_shares(Tables.of([0, 5], [0, 10], [5, 0], [10, 0]), ALPHA)
    assert np.isnan(found.statistic).all()
    assert np.isnan(found.log_p).all()


def test_one_visitor_each_is_no_evidence() -> None:
    # Half of the time one of the two converts, whichever it is: mid-p is 2 · (1/2) / 2.
    assert np.exp(shares(0, 1, 1, 1).log_p[0]) == pytest.approx(0.5)


def test_a_billion_visitors_are_compared() -> None:
    found = shares(50_000_000, 10**9, 50_050_000, 10**9)
    z, _ = proportions_ztest([50_050_000, 50_000_000], [10**9, 10**9])
    assert found.statistic[0] == pytest.approx(z, rel=1e-9)
    assert 0 < found.low[0] < 0.001 < found.high[0]


@given(st.integers(2, 60), st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_t_is_scipys_welch(n: int, control_n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    treatment, control = rng.lognormal(3, 1, n), rng.lognormal(3, 1.5, control_n)
    theirs, found = stats.ttest_ind(treatment, control, equal_var=False), means(control, treatment)
    assert found.statistic[0] == pytest.approx(theirs.statistic, rel=1e-9)
    assert found.df[0] == pytest.approx(theirs.df, rel=1e-9)
    assert np.exp(found.log_p[0]) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_spend_of_hillstroms_customers_has_its_published_t() -> None:
    # Visitors, cents and squared cents of "No E-Mail", "Mens E-Mail" and "Womens E-Mail".
    sums = [
        (21_306, 1_390_833, 28_700_503_621),
        (21_307, 3_031_169, 67_590_244_973),
        (21_387, 2_303_811, 49_114_465_763),
    ]
    control, men, women = (
        Estimate.of(Moments(*(np.array([x]) for x in (float(n), cents / n, (n * squares - cents**2) / n))))
        for n, cents, squares in sums
    )
    found = compare_means(control, men, ALPHA)
    assert found.statistic[0] == pytest.approx(5.30014035841167, rel=1e-12)
    assert found.df[0] == pytest.approx(36_671.157977, rel=1e-9)
    assert np.exp(found.log_p[0]) == pytest.approx(1.163814968e-07, rel=1e-9)
    assert np.exp(compare_means(control, women, ALPHA).log_p[0]) == pytest.approx(1.129397102e-03, rel=1e-9)


def test_means_about_ten_million_keep_their_variance() -> None:
    rng = np.random.default_rng(9)
    control, treatment = 1e7 + rng.normal(0, 2, 5000), 1e7 + rng.normal(0.1, 2, 5000)
    theirs = stats.ttest_ind(treatment - 1e7, control - 1e7, equal_var=False)
    assert means(control, treatment).statistic[0] == pytest.approx(theirs.statistic, rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.floats(0.5, 2), st.sampled_from([0.2, 0.05, 0.001]))
def test_interval_of_means_agrees_with_its_test(seed: int, scale: float, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    found = means(rng.exponential(1, 40), scale * rng.exponential(1, 55), alpha)
    assume(abs(found.log_p[0] - np.log(alpha)) > 1e-7)
    if np.isfinite(found.low[0]):
        assert (found.log_p[0] < np.log(alpha)) == (found.low[0] > 0 or found.high[0] < 0)


def test_one_visitor_or_equal_values_leave_nothing_to_test() -> None:
    for control, treatment in (([5.0], [1.0, 2.0]), ([5.0, 5.0], [5.0, 5.0]), ([0.0] * 9, [0.0] * 9)):
        found = means(np.array(control), np.array(treatment))
        assert np.isnan(found.log_p[0])
        assert np.isnan(found.low[0])


def test_one_arm_that_varies_is_enough_to_test() -> None:
    found = means(np.zeros(50), np.r_[np.zeros(40), np.arange(1.0, 11.0)])
    assert found.log_p[0] < np.log(0.05)
    # Nothing can be said in percent of nothing.
    assert np.isnan(found.low[0])


def test_fieller_is_the_root_of_its_definition() -> None:
    low, high = (bound[0] for bound in fieller(*(np.array([x]) for x in (10.0, 0.8, 12.0, 1.1, 1.96))))
    for lift in (low, high):
        gap = 12.0 - (1 + lift) * 10.0
        assert gap**2 == pytest.approx(1.96**2 * (1.1 + (1 + lift) ** 2 * 0.8), rel=1e-12)


def test_a_control_that_may_be_zero_has_no_bounds() -> None:
    low, high = fieller(*(np.array([x]) for x in (1.0, 0.8, 12.0, 1.1, 1.96)))
    assert np.isnan(low[0])
    assert np.isnan(high[0])
    below_zero = fieller(*(np.array([x]) for x in (-10.0, 0.8, 12.0, 1.1, 1.96)))
    assert np.isnan(below_zero[0][0])


def test_a_a_tests_of_skewed_money_alarm_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)

    def arm() -> Moments:
        bought = rng.random((2000, 2000)) < 0.1
        return Moments.of(np.where(bought, rng.lognormal(3, 0.8, bought.shape), 0.0))

    found = compare_means(Estimate.of(arm()), Estimate.of(arm()), ALPHA)
    assert np.mean(found.log_p < np.log(ALPHA)) == pytest.approx(ALPHA, abs=0.015)


def test_a_level_each_is_the_same_as_one_after_the_other() -> None:
    levels = np.array([0.05, 0.01, 0.2])
    # The first table is judged exactly, the others by score.
    tables = Tables.of([3, 50, 70], 1_000, [9, 80, 75], 1_000)
    moments = Moments.of(np.array([[1.0, 2, 4, 4], [2.0, 2, 3, 9], [0.0, 1, 1, 2]]))
    control, variant = Estimate.of(moments), Estimate.of(moments[::-1])
    for together, alone in (
        (compare_shares(tables, levels), [compare_shares(tables, level) for level in levels]),
        (
            compare_means(control, variant, levels),
            [compare_means(control, variant, level) for level in levels],
        ),
    ):
        assert len(alone) == levels.size
        for place, one in enumerate(alone):
            np.testing.assert_allclose(together.low[place], one.low[place])
            np.testing.assert_allclose(together.high[place], one.high[place])
