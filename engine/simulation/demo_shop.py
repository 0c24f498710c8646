"""Demo shop: events of simulated experiments with known effects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from engine.design.assignment import assign
from engine.design.experiment import Experiment
from engine.simulation.visitors import (
    DAY_US,
    Effect,
    Outcomes,
    Population,
    Visitors,
    simulate_outcomes,
    simulate_visitors,
)

DAYS = 28
CHUNK_VISITORS = 20_000
# The larger gallery fails to start in this browser for this share of its visitors, without an exposure event.
BROKEN_BROWSER, BROKEN_SHARE = "Safari", 0.12
REFUND_SHARE = 0.03
REFUND_AFTER_US = DAY_US // 24
# From the last visitor's arrival to the last order and its refund.
ORDERING_HOURS = 4
CART_SHARE = 0.09
URL = "https://shop.example"
SHOP_TIMEZONE = "America/New_York"

EXPERIMENTS: tuple[dict[str, Any], ...] = (
    {
        "name": "One-page checkout",
        "tags": ["checkout"],
        "hypothesis": "Fewer steps lead more visitors to an order.",
        "variants": [{"name": "Three steps", "is_control": True}, {"name": "One page"}],
    },
    {
        "name": "Free-shipping banner",
        "tags": ["checkout"],
        "hypothesis": "Saying it at the top of every page leads to more orders.",
        "variants": [{"name": "No banner", "is_control": True}, {"name": "Banner"}],
    },
    {
        "name": "Larger product gallery",
        "tags": ["product"],
        "hypothesis": "Larger pictures lead more visitors to an order.",
        "variants": [{"name": "Small pictures", "is_control": True}, {"name": "Large pictures"}],
    },
)
# They change nothing; one has ended and was decided about, and one began yesterday.
ENDED: dict[str, Any] = {
    "name": "Coupon field hidden",
    "tags": ["checkout"],
    "hypothesis": "Fewer visitors leave to look for a code.",
    "variants": [{"name": "Field shown", "is_control": True}, {"name": "Field hidden"}],
}
NEW: dict[str, Any] = {
    "name": "Reviews above the fold",
    "tags": ["product"],
    "hypothesis": "Reviews beside the price lead more visitors to an order.",
    "variants": [{"name": "Below", "is_control": True}, {"name": "Above"}],
}
# By tag, the team that answers for an experiment.
TEAMS = {"checkout": "Checkout team", "product": "Product team"}
GOALS: tuple[dict[str, Any], ...] = (
    {
        "name": "Order placed",
        "goal_type": "custom_event",
        "is_primary": True,
        "config": {"event_name": "purchase"},
    },
    {"name": "Revenue", "goal_type": "revenue", "config": {"event_name": "purchase"}},
    {"name": "Cart viewed", "goal_type": "pageview", "config": {"url": f"{URL}/cart"}},
)
# Only the checkout changes anything: the banner does nothing, and the gallery only loses visitors.
CHECKOUT_EFFECT = Effect(conversion_lift=0.12, order_value_lift=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoShop:
    """Simulated visitors with their variant of each experiment and their outcomes."""

    experiments: Sequence[Experiment]
    visitor_ids: list[str]
    visitors: Visitors
    arms: np.ndarray[Any, np.dtype[np.int64]]
    outcomes: Outcomes
    seed: int


def simulate_shop(
    experiments: Sequence[Experiment], *, visitors: int, until: datetime, seed: int
) -> DemoShop:
    """Simulate `visitors` over the 27 days before the last midnight; the first experiment is the checkout.

    In the first hours of a day they come up to some hours earlier, so that their orders are past.
    """
    begin = until - timedelta(days=DAYS - 1)
    begin_us = min(_midnight_us(begin), _seconds_us(begin - timedelta(hours=ORDERING_HOURS)))
    population = Population(visitors=visitors, days=DAYS - 1, start_us=begin_us)
    people = simulate_visitors(population, seed=seed)
    ids = [f"v{seed}-{number:07d}" for number in range(visitors)]
    arms = np.array([[_arm(experiment, visitor) for visitor in ids] for experiment in experiments])
    outcomes = simulate_outcomes(population, people, arms[0], (Effect(), CHECKOUT_EFFECT), seed=seed + 1)
    return DemoShop(
        experiments=experiments, visitor_ids=ids, visitors=people, arms=arms, outcomes=outcomes, seed=seed
    )


def shop_events(shop: DemoShop) -> Iterator[pl.DataFrame]:
    """Yield the events in chunks of visitors, with the columns of each event type."""
    rng = np.random.default_rng(shop.seed + 2)
    base = _base_frame(shop, rng)
    for chunk in base.iter_slices(CHUNK_VISITORS):
        yield pl.concat(_events_of(shop, chunk), how="diagonal")


def events_by_time(shop: DemoShop, moments: Sequence[datetime]) -> Iterator[tuple[datetime, pl.DataFrame]]:
    """Yield each of the moments, which are in order, with the events before it and after the one before."""
    held, ahead, taken = pl.DataFrame(), shop_events(shop), 0
    arrived = shop.visitors.arrived_us
    for moment in moments:
        until_us = _seconds_us(moment)
        # Visitors come in order: of the time before the last one so far, all is known.
        while taken < len(arrived) and (taken == 0 or arrived[taken - 1] < until_us):
            held = pl.concat([held, next(ahead)], how="diagonal")
            taken += CHUNK_VISITORS
        is_before = pl.col("occurred_at") < until_us
        yield moment, held.filter(is_before)
        held = held.filter(~is_before)


def _events_of(shop: DemoShop, visitors: pl.DataFrame) -> list[pl.DataFrame]:
    segments = list(shop.visitors.segments)
    exposures = [
        visitors.filter(
            _is_running(experiment), ~(pl.lit(number == 2) & pl.col("breaks") & (pl.col("arm_2") == 1))
        ).select(
            _event_id(f"x{number}"),
            "visitor_id",
            *segments,
            pl.lit("exposure").alias("type"),
            pl.col("arrived_us").alias("occurred_at"),
            pl.lit(experiment.id).alias("experiment_id"),
            pl.col(f"arm_{number}")
            .replace_strict(range(len(experiment.variants)), [variant.id for variant in experiment.variants])
            .alias("variant_id"),
        )
        for number, experiment in enumerate(shop.experiments)
    ]
    return [*exposures, *_pageviews(visitors), *_orders(visitors)]


def _is_running(experiment: Experiment) -> pl.Expr:
    """Select the visitors who arrive between the start and the scheduled end."""
    begin, end = experiment.started_at, experiment.scheduled_end_at
    arrived = pl.col("arrived_us")
    has_begun = pl.lit(True) if begin is None else arrived >= _seconds_us(begin)
    return has_begun if end is None else has_begun & (arrived < _seconds_us(end))


def _pageviews(visitors: pl.DataFrame) -> list[pl.DataFrame]:
    def viewed(visitors: pl.DataFrame, letter: str, path: str, after_us: int) -> pl.DataFrame:
        return visitors.select(
            _event_id(letter),
            "visitor_id",
            pl.lit("pageview").alias("type"),
            (pl.col("arrived_us") + after_us).alias("occurred_at"),
            pl.lit(URL + path).alias("url"),
        )

    return [viewed(visitors, "p", "/", 1_000), viewed(visitors.filter("sees_cart"), "c", "/cart", 90_000_000)]


def _orders(visitors: pl.DataFrame) -> list[pl.DataFrame]:
    def paid(visitors: pl.DataFrame, letter: str, after_us: int, *, is_refund: bool) -> pl.DataFrame:
        return visitors.select(
            _event_id(letter),
            "visitor_id",
            pl.lit("conversion").alias("type"),
            (pl.col("converted_us") + after_us).alias("occurred_at"),
            pl.lit("purchase").alias("event_name"),
            pl.col("order_cents").alias("revenue_cents"),
            pl.lit("USD").alias("currency"),
            pl.format("order-{}", "visitor_id").alias("transaction_id"),
            pl.lit(is_refund).alias("is_refund"),
        )

    buyers = visitors.filter("converted")
    return [
        paid(buyers, "o", 0, is_refund=False),
        paid(buyers.filter("refunds"), "r", REFUND_AFTER_US, is_refund=True),
    ]


def _base_frame(shop: DemoShop, rng: np.random.Generator) -> pl.DataFrame:
    """Build one row per visitor, in order of arrival."""
    count = shop.visitors.count
    broken = (shop.visitors.segments["browser"] == BROKEN_BROWSER) & (rng.random(count) < BROKEN_SHARE)
    return pl.DataFrame(
        {
            "visitor_id": shop.visitor_ids,
            "arrived_us": shop.visitors.arrived_us,
            **{name: values.tolist() for name, values in shop.visitors.segments.items()},
            **{f"arm_{number}": arm for number, arm in enumerate(shop.arms)},
            "breaks": broken,
            "converted": shop.outcomes.converted,
            "converted_us": shop.outcomes.converted_us,
            "order_cents": shop.outcomes.order_cents,
            "sees_cart": shop.outcomes.converted | (rng.random(count) < CART_SHARE),
            "refunds": rng.random(count) < REFUND_SHARE,
        }
    )


def _event_id(letter: str) -> pl.Expr:
    return pl.format("{}-{}", pl.lit(letter), "visitor_id").alias("event_id")


def _arm(experiment: Experiment, visitor_id: str) -> int:
    variant = assign(experiment, visitor_id).variant
    return 0 if variant is None else experiment.variants.index(variant)


def _seconds_us(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000


def _midnight_us(moment: datetime) -> int:
    return int(moment.timestamp()) // 86_400 * DAY_US
