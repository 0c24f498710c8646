"""Distribution of a goal's values: visitors by value in each variant."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from engine.design.goal import Goal
from engine.measures.sums import unit_of
from engine.stats.frequentist.quantiles import ValueCounts
from engine.stats.value_buckets import counted
from pipeline.results.filters import SegmentFilters
from pipeline.results.observation import Observation
from pipeline.rollup.goals.known_days import last_days
from pipeline.rollup.goals.summed_goals import goals_with_values
from pipeline.store.warehouse.extremes import columns_of
from pipeline.store.warehouse.value_counts import read_value_counts

# Of each variant by its id, in the goal's own unit or in minor units of money.
Distribution = Mapping[str, ValueCounts]


def distribution_of(
    observation: Observation, goal: Goal, filters: SegmentFilters, *, timezone: str
) -> Distribution | None:
    """Count visitors by value, within 1%; None for goals without values, and where no visitors are stored."""
    published = observation.published
    found = {one.place: one for one in goals_with_values(observation.experiment, published.goals)}
    place = published.goals.index(goal.id) if goal.id in published.goals else None
    if published.sums_from is not None or place is None or place not in found or goal.measure.is_ratio:
        return None
    visitors = observation.everyone.within(filters.segment, filters.days)
    column = columns_of(found[place], visitors.columns)[0]
    if column not in visitors.columns:
        return None
    last = last_days(observation.experiment, published.goals, observation.as_of, timezone)
    counts = read_value_counts(visitors, column, last_day=last.get(place))
    unit = unit_of(goal.summed) or 1
    return {
        variant_id: _counted(counts.filter(pl.col("variant") == variant), unit)
        for variant, variant_id in enumerate(published.variants)
    }


def _counted(rows: pl.DataFrame, unit: int) -> ValueCounts:
    found = counted(rows["bucket"].to_numpy().astype(np.int64), rows["visitors"].to_numpy())
    return ValueCounts(found.values / unit, found.counts, found.rounding / unit)
