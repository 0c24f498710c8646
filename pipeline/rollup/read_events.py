"""One read of a project's events for all experiments that share counting rules.

Of events with one id, and of orders with one transaction, only the first counts.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from engine.design.experiment import Experiment
from pipeline.rollup.count_visitors import (
    Outcomes,
    find_first_exposures,
    join_outcomes,
    select_counted,
    sum_outcomes,
)
from pipeline.rollup.counting_rules import (
    CountingRules,
    extra_columns,
    goal_rows,
    variant_rows,
)
from pipeline.rollup.first_segments import complete_segments
from pipeline.rollup.goal_matching import match_goals, matched_fields
from pipeline.rollup.segment_values import as_categories, with_day_of_week
from pipeline.store.warehouse.event_reader import Bucket, EventReader, buckets
from pipeline.store.warehouse.goal_events import GoalEvents

# Keys alone are small, so those of this many buckets are compared at once.
_BUCKETS_OF_KEYS: Final = 8


class ExperimentRows(NamedTuple):
    """Rows of one experiment from a bucket of visitors.

    `visitors` has a row each with segments as text, `orders` those of all goals by local day.
    """

    visitors: pl.DataFrame
    orders: pl.DataFrame
    last_exposed_at: int | None


class ProjectRead:
    """Counted visitors of several experiments, a bucket of visitors at a time."""

    def __init__(
        self, reader: EventReader, experiments: Sequence[Experiment], rules: CountingRules, *, at_once: int
    ) -> None:
        """Prepare to read about `at_once` events at a time: find repeated events and the events of goals."""
        self._reader = reader
        self._experiments = experiments
        self._rules = rules
        self._variants = variant_rows(experiments)
        self._goals = goal_rows(experiments, rules)
        self._at_once = at_once
        self._events = reader.count()
        self._goal_events = self._find_goal_events()
        self._repeated_orders = find_repeated_orders(
            select_counted(self._goal_events.suspected_orders(), self._goals, no_repeated_orders())
        )

    def __iter__(self) -> Iterator[list[ExperimentRows]]:
        """Yield the rows of each experiment, in their order, bucket after bucket."""
        return map(self._count_bucket, buckets(self._events, self._at_once))

    def _find_goal_events(self) -> GoalEvents:
        for bucket in buckets(self._events, self._at_once * _BUCKETS_OF_KEYS):
            keys = self._reader.event_keys(bucket)
            self._reader.skip_repeats(find_repeated_keys(keys) if self._reader.is_whole else keys)
        goal_events = GoalEvents(self._reader, matched_fields(self._experiments))
        values = self._goals.select("rule", "minor_units", "value_path")
        for signatures in goal_events.read_signatures(self._at_once):
            matched = match_goals(signatures, self._experiments)
            goal_events.select(matched.join(values, on="rule"))
        goal_events.collect()
        return goal_events

    def _count_bucket(self, bucket: Bucket) -> list[ExperimentRows]:
        exposures = as_categories(self._reader.exposures(self._variants, bucket))
        firsts = find_first_exposures(exposures, self._rules.timezone)
        exposed = with_day_of_week(complete_segments(firsts, self._reader, bucket))
        counted = select_counted(self._goal_events.of_visitors(bucket), self._goals, self._repeated_orders)
        outcomes = sum_outcomes(counted, exposed, self._rules)
        return [
            _rows_of(number, experiment, exposed, outcomes)
            for number, experiment in enumerate(self._experiments)
        ]


def find_repeated_keys(keys: pl.Series) -> pl.Series:
    """Find the keys that occur more than once, each listed once."""
    # Sorting is several times faster here than counting in a hash table.
    in_order = keys.sort()
    return in_order.filter(in_order == in_order.shift(1)).unique()


def find_repeated_orders(orders: pl.DataFrame) -> pl.DataFrame:
    """Find the orders (`rule`, `transaction_key`, `seq`) after the first of each rule and transaction."""
    first = pl.col("seq").min().over("rule", "transaction_key")
    return orders.filter(pl.col("seq") != first).select("rule", "seq")


def no_repeated_orders() -> pl.DataFrame:
    """Return the empty result of `find_repeated_orders`."""
    return pl.DataFrame(schema={"rule": pl.UInt32, "seq": pl.Int64})


def _rows_of(
    number: int, experiment: Experiment, exposed: pl.DataFrame, outcomes: Outcomes
) -> ExperimentRows:
    """Select the rows of one experiment, given by its number."""
    numbers = exposed["experiment"]
    first, end = numbers.search_sorted(number), numbers.search_sorted(number + 1)
    rows = exposed[first:end]
    is_this = pl.col("experiment") == number
    return ExperimentRows(
        visitors=join_outcomes(
            rows.drop("last_exposed_at"),
            outcomes.firsts.filter(is_this),
            len(experiment.goals),
            extra_columns(experiment),
        ),
        orders=outcomes.orders.filter(is_this).drop("experiment"),
        last_exposed_at=rows.select(pl.col("last_exposed_at").max()).item(),
    )
