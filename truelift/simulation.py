"""Simulated experiments with known effects, as DataFrames."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from types import MappingProxyType

import numpy as np
import polars as pl

from engine.simulation.visitors import Effect, Population, simulate_outcomes, simulate_visitors

__all__ = ["simulate"]

_TWO_VARIANTS: Mapping[str, float] = MappingProxyType({"control": 0.0, "treatment": 0.1})
_NO_LIFTS: Mapping[str, float] = MappingProxyType({})


def simulate(  # noqa: PLR0913  # a shop has as many parameters; each has a default
    visitors: int = 10_000,
    *,
    seed: int,
    lifts: Mapping[str, float] = _TWO_VARIANTS,
    order_value_lifts: Mapping[str, float] = _NO_LIFTS,
    base_rate: float = 0.05,
    mean_order: float = 65.0,
    days: int = 28,
    start: date = date(2026, 3, 2),
) -> pl.DataFrame:
    """Draw the visitors of an experiment whose true effect is known; the same seed draws the same visitors.

    `lifts` are the variants with their true relative lift of the conversion rate, a share (0.1 is ten
    percent more); the first is the control, and visitors split evenly. `order_value_lifts` are the same of
    the mean order, 0 for variants that are not in it. `base_rate` is the share of visitors who convert at
    a lift of 0, `mean_order` in major units such as dollars. Visitors arrive over `days` days from `start`.

    One row a visitor, in order of arrival: `visitor_id`, `variant`, `first_seen` (UTC), `device_type`,
    `country`, `visitor_type`, `traffic_source`, `browser`, `os`, `utm_campaign`, `converted`,
    `converted_at` (UTC; null without a conversion), `revenue` (0 without one) and `revenue_before`, the
    spending before the experiment, in major units.
    Raises ValueError for an argument out of bounds: fewer than one visitor or day, a rate that is not
    between 0 and 1, with its lift too, or a lift below -1.
    """
    if unknown := set(order_value_lifts) - set(lifts):
        raise ValueError(f"order_value_lifts names no variants: {', '.join(map(repr, sorted(unknown)))}")
    if len(lifts) < 2 or next(iter(lifts.values())):
        raise ValueError("lifts need the control first, with a lift of 0, and at least one more variant")
    population = Population(
        visitors=visitors,
        days=days,
        start_us=int(datetime.combine(start, time(), UTC).timestamp()) * 1_000_000,
        base_rate=base_rate,
        order_cents=mean_order * 100,
    )
    for name, lift in lifts.items():
        rate = base_rate * (1.0 + lift)
        if rate > 1.0:
            raise ValueError(
                f"the lift {lift} of {name!r} makes a rate of {rate:.0%}; "
                "lifts are shares: 0.1 is ten percent more"
            )
    drawn = simulate_visitors(population, seed=seed)
    # A stream of its own for each step, so that the effects change neither the visitors nor their split.
    split_seed, outcome_seed = np.random.SeedSequence(seed).generate_state(2).tolist()
    arms = np.random.default_rng(split_seed).integers(0, len(lifts), visitors)
    effects = [
        Effect(conversion_lift=lift, order_value_lift=order_value_lifts.get(name, 0.0))
        for name, lift in lifts.items()
    ]
    outcomes = simulate_outcomes(population, drawn, arms, effects, seed=outcome_seed)
    return pl.DataFrame(
        {
            "visitor_id": [f"v{number:06d}" for number in range(1, visitors + 1)],
            "variant": np.array(list(lifts))[arms],
            "first_seen": drawn.arrived_us,
            **drawn.segments,
            "converted": outcomes.converted,
            "converted_at": outcomes.converted_us,
            "revenue": outcomes.order_cents / 100,
            "revenue_before": drawn.earlier_cents / 100,
        }
    ).with_columns(
        pl.col("first_seen").cast(pl.Datetime("us", "UTC")),
        pl.when("converted").then(pl.col("converted_at").cast(pl.Datetime("us", "UTC"))),
    )
