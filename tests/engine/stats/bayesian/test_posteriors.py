"""Posteriors against SciPy's quadrature and draws, and the duality of chance and interval."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, stats

from engine.stats.bayesian.posteriors import (
    compare_means,
    compare_shares,
    mean_lift,
    share_lift,
)
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.moments import Moments


@pytest.mark.parametrize(
    "counts",
    [(118, 1412, 140, 1405), (0, 100, 8, 100), (3516, 28806, 3421, 28798), (10, 1000, 1, 1000), (5, 5, 2, 6)],
)
def test_loss_is_the_expected_shortfall(counts: tuple[int, int, int, int]) -> None:
    control_hits, control_n, hits, n = counts
    variant = stats.beta(hits + 1, n - hits + 1)
    control = stats.beta(control_hits + 1, control_n - control_hits + 1)
    # E[max(C - T, 0)] = ∫ P(T < x < C) dx.
    marks = np.clip(control.mean() + control.std() * np.array([-9.0, -3, 0, 3, 9, 40]), 0, 1)
    ends = np.unique(np.r_[0.0, marks, 1.0])
    loss = sum(
        integrate.quad(lambda x: variant.cdf(x) * control.sf(x), low, high, epsabs=1e-15)[0]
        for low, high in pairwise(ends)
    )
    found = compare_shares(Tables.of([control_hits], [control_n], [hits], [n]))
    assert found.loss[0] == pytest.approx(loss, rel=1e-8)


def test_loss_under_a_prior_of_fractional_shapes_is_the_expected_shortfall() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        prior = tuple(1.0 + rng.uniform(0.01, 100.0) * np.array([0.05, 0.95]))
        n = rng.integers(1, 2000, 2)
        hits = rng.binomial(n, 0.05)
        control, variant = (stats.beta(hits[i] + prior[0], n[i] - hits[i] + prior[1]) for i in range(2))
        marks = np.r_[0.0, control.ppf([1e-12, 1e-4, 0.1, 0.5, 0.9, 1 - 1e-4, 1 - 1e-12]), 1.0]
        loss = sum(
            integrate.quad(
                lambda x, variant=variant, control=control: variant.cdf(x) * control.sf(x),
                *ends,
                epsabs=1e-15,
                epsrel=1e-11,
            )[0]
            for ends in pairwise(marks)
        )
        found = compare_shares(Tables.of(hits[:1], n[:1], hits[1:], n[1:]), prior)
        assert found.loss[0] == pytest.approx(loss, rel=1e-7, abs=1e-13)


def test_a_sure_winner_costs_next_to_nothing_but_not_nothing() -> None:
    found = compare_shares(Tables.of([2262], [21306], [3894], [21307]))
    assert found.chance[0] == pytest.approx(1.0)
    assert 0 < found.loss[0] < 1e-100


def test_no_visitors_have_no_posterior() -> None:
    tables = Tables.of([0, 5], [0, 10], [5, 0], [10, 0])
    assert np.isnan(compare_shares(tables).chance).all()
    assert np.isnan(share_lift(tables, 0.05)[0]).all()


@pytest.mark.parametrize(
    "counts", [(118, 1412, 140, 1405), (3, 100, 8, 100), (3516, 28806, 3421, 28798), (95, 100, 98, 100)]
)
def test_interval_holds_the_share_of_draws_it_says(counts: tuple[int, int, int, int]) -> None:
    control_hits, control_n, hits, n = counts
    rng = np.random.default_rng(1)
    ratio = rng.beta(hits + 1, n - hits + 1, 400_000) / rng.beta(
        control_hits + 1, control_n - control_hits + 1, 400_000
    )
    low, high = share_lift(Tables.of([control_hits], [control_n], [hits], [n]), 0.05)
    assert np.mean(ratio - 1 < low[0]) == pytest.approx(0.05, abs=0.002)
    assert np.mean(ratio - 1 > high[0]) == pytest.approx(0.05, abs=0.002)


@given(st.data())
def test_interval_agrees_with_the_chance(data: st.DataObject) -> None:
    n, control_n = data.draw(st.integers(1, 10**6)), data.draw(st.integers(1, 10**6))
    rate = data.draw(st.floats(0, 1))
    hits = data.draw(st.integers(max(0, round(rate * n) - 300), min(n, round(rate * n) + 300)))
    tables = Tables.of([round(rate * control_n)], [control_n], [hits], [n])
    tail = data.draw(st.sampled_from([0.1, 0.05, 0.0125]))
    chance, (low, high) = compare_shares(tables).chance[0], share_lift(tables, tail)
    assume(min(abs(chance - tail), abs(chance - 1 + tail)) > 1e-9)
    assert low[0] <= high[0]
    assert (chance > 1 - tail) == (low[0] > 0)
    assert (chance < tail) == (high[0] < 0)


def test_money_has_the_normal_posterior_of_its_mean() -> None:
    rng = np.random.default_rng(4)
    control, treatment = rng.exponential(100, 900), rng.exponential(108, 1100)
    arms = [Estimate.of(Moments.of(values[None])) for values in (control, treatment)]
    gap = treatment.mean() - control.mean()
    error = np.sqrt(treatment.var(ddof=1) / 1100 + control.var(ddof=1) / 900)
    law = stats.norm(gap, error)
    found = compare_means(*arms)
    assert found.chance[0] == pytest.approx(law.sf(0), rel=1e-9)
    assert found.loss[0] == pytest.approx(law.expect(lambda x: -x, ub=0), rel=1e-7)


def test_interval_of_money_agrees_with_its_chance() -> None:
    control = Estimate.of(Moments(np.full(200, 900.0), np.full(200, 100.0), np.full(200, 9e6)))
    treatment = Estimate.of(Moments(np.full(200, 900.0), np.linspace(80, 120, 200), np.full(200, 9e6)))
    low, high = mean_lift(control, treatment, 0.05)
    chance = compare_means(control, treatment).chance
    assert ((chance > 0.95) == (low > 0)).all()
    assert ((chance < 0.05) == (high < 0)).all()


def test_one_visitor_has_no_posterior_of_a_mean() -> None:
    one, many = Estimate.of(Moments.of([[5.0]])), Estimate.of(Moments.of([[5.0, 6.0]]))
    assert np.isnan(compare_means(one, many).chance[0])
    assert np.isnan(compare_means(one, many).loss[0])


def test_means_that_hardly_vary_are_told_apart_without_overflow() -> None:
    arms = (Estimate(np.array([value]), np.array([1e-310]), np.array([2.0])) for value in (0.0, 1e8))
    found = compare_means(*arms)
    assert (found.chance[0], found.loss[0]) == (1.0, 0.0)
