"""Simulated visitors have the truth they were given."""

import numpy as np
import pytest

from engine.simulation.visitors import (
    DAY_US,
    Effect,
    Population,
    simulate_outcomes,
    simulate_visitors,
)

POPULATION = Population(visitors=200_000, days=14, base_rate=0.05, order_cents=5_000, order_sigma=1.0)


def outcomes_of(effects: tuple[Effect, ...], seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    visitors = simulate_visitors(POPULATION, seed=1)
    arms = np.arange(visitors.count) % len(effects)
    outcomes = simulate_outcomes(POPULATION, visitors, arms, effects, seed=seed)
    return arms, outcomes.converted, outcomes.order_cents


def test_the_same_seed_gives_the_same_people_and_another_seed_others() -> None:
    first, again, other = (simulate_visitors(POPULATION, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.arrived_us, again.arrived_us)
    assert (first.arrived_us != other.arrived_us).any()


def test_everyone_arrives_within_the_days_in_order() -> None:
    arrived = simulate_visitors(POPULATION, seed=1).arrived_us
    assert (np.diff(arrived) >= 0).all()
    assert arrived.min() >= 0
    assert arrived.max() < 14 * DAY_US


def test_each_arm_converts_at_its_true_rate() -> None:
    arms, converted, _ = outcomes_of((Effect(), Effect(conversion_lift=0.5)))
    n = (arms == 0).sum()
    for arm, rate in ((0, 0.05), (1, 0.075)):
        # Five standard errors of a share.
        assert converted[arms == arm].mean() == pytest.approx(rate, abs=5 * (rate / n) ** 0.5)


def test_orders_have_the_mean_that_was_asked_for() -> None:
    arms, converted, cents = outcomes_of((Effect(), Effect(order_value_lift=1.0)))
    for arm, mean in ((0, 5_000), (1, 10_000)):
        orders = cents[converted & (arms == arm)]
        # A lognormal with sigma 1 has a standard deviation of sqrt(e - 1) = 1.31 means.
        assert orders.mean() == pytest.approx(mean, abs=5 * 1.31 * mean / len(orders) ** 0.5)


def test_earlier_spending_predicts_later_spending() -> None:
    visitors = simulate_visitors(POPULATION, seed=1)
    arms = np.zeros(visitors.count, np.int64)
    outcomes = simulate_outcomes(POPULATION, visitors, arms, (Effect(),), seed=2)
    buyers, others = outcomes.converted, ~outcomes.converted
    assert visitors.earlier_cents[buyers].mean() > visitors.earlier_cents[others].mean()


@pytest.mark.parametrize("wrong", [{"visitors": 0}, {"base_rate": 0.0}, {"base_rate": 1.0}, {"loyalty": 1.0}])
def test_an_impossible_population_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"population|base_rate|loyalty"):
        Population(**{"visitors": 10, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("lift", [-1.5, float("nan"), float("inf")])
def test_a_lift_that_leaves_less_than_nothing_is_refused(lift: float) -> None:
    with pytest.raises(ValueError, match="share of at least -1"):
        Effect(conversion_lift=lift)
    with pytest.raises(ValueError, match="share of at least -1"):
        Effect(order_value_lift=lift)
