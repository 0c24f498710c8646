"""Simulated days: totals that rise, with the means, variances and delays that were asked for."""

from dataclasses import replace

import numpy as np
import pytest

from engine.calibration.decisions.decision_case import DecisionCase
from engine.calibration.decisions.simulated_days import SimulatedDays, simulate_days

CASE = DecisionCase(rate=0.1, plan_day=10.0, guardrail=0.05, minimum_effect=0.3)
LIFTS = np.array([[0.0, 0.5], [0.0, -0.2]])


def simulated(case: DecisionCase, lifts: np.ndarray, *, runs: int = 200, days: int = 10) -> SimulatedDays:
    return simulate_days(case, lifts, days=days, runs=runs, rng=np.random.default_rng(3))


def test_conversions_have_the_rates_of_their_goals_and_variants() -> None:
    days = simulated(CASE, LIFTS)
    assert days.conversions.shape == (200, 10, 2, 2)
    assert (np.diff(days.conversions, axis=1) >= 0).all()
    rates = days.conversions[:, -1].mean(axis=0) / days.visitors[-1]
    assert rates == pytest.approx(0.1 * (1 + LIFTS), rel=0.02)
    assert days.moments.mean[:, -1].mean(axis=0) == pytest.approx(rates, rel=1e-9)


def test_revenue_has_the_mean_variance_and_skewness_of_lognormal_orders() -> None:
    days = simulated(replace(CASE, orders="lognormal"), LIFTS, runs=400)
    last = days.moments[:, -1].sum_over(0)
    factors = 1 + LIFTS
    # Moments of exp(N(-1/2, 1)): 1, e and e³, of a tenth of the visitors.
    mean, square, cube = 0.1 * factors, 0.1 * np.e * factors**2, 0.1 * np.e**3 * factors**3
    assert last.mean == pytest.approx(mean, rel=0.01)
    assert last.variance == pytest.approx(square - mean**2, rel=0.05)
    assert last.m3 / last.n == pytest.approx(cube - 3 * mean * square + 2 * mean**3, rel=0.3)


def test_late_conversions_arrive_the_mean_delay_later_and_all_of_them_do() -> None:
    at_once, late = simulated(CASE, LIFTS, days=60), simulated(replace(CASE, delay=3.0), LIFTS, days=60)
    by_day = late.conversions.mean(axis=0)[:, 0, 0]
    expected = at_once.conversions.mean(axis=0)[:, 0, 0]
    # Once arrivals are steady, totals lag by three days' conversions.
    assert (expected[-1] - by_day[-1]) / (expected[-1] / 60) == pytest.approx(3.0, abs=0.3)


def test_outcomes_are_known_days_after_their_visitors_entered() -> None:
    case = replace(CASE, known_after=4, plan_day=14.0)
    days = simulated(case, LIFTS, days=20)
    assert (days.entered[:16] == days.visitors[4:]).all()
    assert not days.visitors[:4].any()
    assert not days.conversions[:, :4].any()
    assert not days.moments.mean[:, :4].any()
    rates = days.conversions[:, -1].mean(axis=0) / days.visitors[-1]
    assert rates == pytest.approx(0.1 * (1 + LIFTS), rel=0.02)


def test_runs_differ_and_a_seed_repeats_them() -> None:
    first, again = simulated(CASE, LIFTS, runs=2), simulated(CASE, LIFTS, runs=2)
    assert (first.conversions == again.conversions).all()
    assert (first.conversions[0] != first.conversions[1]).any()
