"""The demo shop sends the events of visitors whose true effects are known."""

from datetime import UTC, datetime

import polars as pl

from engine.simulation.demo_shop import DemoShop, shop_events, simulate_shop
from tests.builders import an_experiment

UNTIL = datetime(2026, 4, 1, tzinfo=UTC)


def a_shop(visitors: int = 4_000) -> DemoShop:
    experiments = [an_experiment(id=f"exp_{number}", weights=(1, 1)) for number in range(3)]
    return simulate_shop(experiments, visitors=visitors, until=UNTIL, seed=7)


def test_the_same_seed_sends_the_same_events() -> None:
    first, second = (pl.concat(list(shop_events(a_shop(500))), how="diagonal") for _ in range(2))
    assert first.height > 2_000
    assert first.equals(second)


def test_every_visitor_is_exposed_to_the_checkout_once() -> None:
    events = pl.concat(list(shop_events(a_shop())), how="diagonal")
    exposures = events.filter(pl.col("experiment_id") == "exp_0")
    assert exposures.height == exposures["visitor_id"].n_unique() == 4_000


def test_orders_are_those_of_the_visitors_who_converted() -> None:
    shop = a_shop()
    events = pl.concat(list(shop_events(shop)), how="diagonal")
    orders = events.filter((pl.col("type") == "conversion") & ~pl.col("is_refund"))
    assert orders.height == shop.outcomes.converted.sum() > 50
    assert orders["revenue_cents"].sum() == shop.outcomes.order_cents.sum()
