"""Simulated returning visitors have the parameters of their case."""

import numpy as np
import pytest

from engine.calibration.returning_visitors import ReturningVisitorsCase, ReturningVisitorsSample

SHOP = ReturningVisitorsCase(rate=2.0, visitors=500)


def drawn(lift: float = 0.0, runs: int = 600, case: ReturningVisitorsCase = SHOP) -> ReturningVisitorsSample:
    return case.draw(lift=lift, runs=runs, rng=np.random.default_rng(3))


def test_orders_are_as_many_and_as_large_as_asked_for_and_larger_in_the_variant() -> None:
    sales = drawn(lift=0.5)
    # 300,000 visitors an arm with a deviation of 3: five standard errors.
    assert sales.revenue.value.mean.mean(axis=0) == pytest.approx([2.0, 3.0], abs=0.045)
    assert sales.orders.orders.mean_x.mean(axis=0) == pytest.approx([2.0, 2.0], abs=0.03)


def test_the_past_is_known_of_the_share_asked_for_and_like_the_present() -> None:
    sales = drawn()
    known, unknown = sales.revenue.before, sales.revenue.without_before
    assert (known.n + unknown.n == 500).all()
    assert known.n.mean() == pytest.approx(350, abs=2)
    assert known.mean_x.mean() == pytest.approx(2.0, abs=0.04)
    slope = known.co.sum() / np.sqrt(known.m2_x.sum() * known.m2_y.sum())
    # (r² (e^(0.64 + 0.25) - 1)) / (r e^(0.25 + 0.25) + r² (e^(0.64 + 0.25) - 1)) with r = 2 orders each.
    assert slope == pytest.approx(0.635, abs=0.03)


def test_a_lift_that_revenue_finds_four_times_in_five_is_that_of_its_spread() -> None:
    values = drawn(runs=2_000).revenue.value
    deviation = np.sqrt(values.m2.sum() / (values.n.sum() - values.n.size))
    # 2.8016 = z(0.975) + z(0.8); the deviation of the variant is larger by the lift.
    error = deviation * np.sqrt((1 + (1 + SHOP.detectable) ** 2) / 500)
    assert SHOP.detectable == pytest.approx(2.8016 * error / 2.0, rel=0.03)


def test_runs_do_not_depend_on_how_many_are_drawn_at_a_time() -> None:
    assert drawn(runs=7, case=ReturningVisitorsCase(rate=0.5, visitors=100_000)).revenue.value.n.shape == (
        7,
        2,
    )
