"""The demo shop sends the events of visitors whose true effects are known."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import polars as pl
import pytest

from engine.simulation.demo_shop import (
    DAYS,
    ORDERING_HOURS,
    DemoShop,
    events_by_time,
    shop_events,
    simulate_shop,
)
from engine.simulation.visitors import DAY_US
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


def test_events_by_time_are_all_of_them_each_before_its_moment() -> None:
    shop = a_shop(500)
    whole = pl.concat(list(shop_events(shop)), how="diagonal")
    moments = [UNTIL - timedelta(days=days) for days in (40, 20, 7, 0)]
    parts = list(events_by_time(shop, moments))
    assert [moment for moment, _ in parts] == moments
    assert [events.height > 0 for _, events in parts] == [False, True, True, True]
    assert sum(events.height for _, events in parts) == whole.height
    for (before, _), (moment, events) in pairwise(parts):
        assert (
            events["occurred_at"]
            .is_between(before.timestamp() * 1e6, moment.timestamp() * 1e6, closed="left")
            .all()
        )


def test_an_experiment_has_the_visitors_of_its_own_time() -> None:
    begin, end = UNTIL - timedelta(days=20), UNTIL - timedelta(days=10)
    short = an_experiment(id="exp_3", started_at=begin, scheduled_end_at=end)
    experiments = [*(an_experiment(id=f"exp_{number}") for number in range(3)), short]
    shop = simulate_shop(experiments, visitors=500, until=UNTIL, seed=7)
    events = pl.concat(list(shop_events(shop)), how="diagonal").filter(pl.col("experiment_id") == "exp_3")
    assert 100 < events.height < 300
    assert events["occurred_at"].is_between(begin.timestamp() * 1e6, end.timestamp() * 1e6).all()


@pytest.mark.parametrize("hour", [0, 3, 5, 12, 23])
def test_visitors_come_up_to_the_last_midnight_and_no_event_is_ahead(hour: int) -> None:
    until = UNTIL + timedelta(hours=hour)
    experiments = [an_experiment(id=f"exp_{number}") for number in range(3)]
    shop = simulate_shop(experiments, visitors=20_000, until=until, seed=7)
    events = pl.concat(list(shop_events(shop)), how="diagonal")["occurred_at"]
    until_us = int(until.timestamp() * 1e6)
    assert until_us // DAY_US * DAY_US - DAYS * DAY_US <= events.min()  # type: ignore[operator]  # of whole numbers
    assert events.max() <= until_us  # type: ignore[operator]
    since = (until_us - shop.visitors.arrived_us.max()) / DAY_US
    # Never so long that the page would be said to have lost the script.
    assert since < (max(hour, ORDERING_HOURS) + 1) / 24
