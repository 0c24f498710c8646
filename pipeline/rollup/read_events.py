"""One reading of a project's events, which serves all the experiments that count by the same rules.

Which events say again what an earlier one said: of a repeat only the first counts.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from engine.design.experiment import Experiment
from pipeline.rollup.counting_rules import (
    CountingRules,
    arms_of,
    goals_of,
    values_told,
)
from pipeline.rollup.goal_matching import match_goals, matched_fields
from pipeline.rollup.segment_values import as_categories, with_day_of_week
from pipeline.rollup.visitors import Outcomes, counted_events, first_exposures, outcomes, visitor_rows
from pipeline.store.warehouse.event_reader import Bucket, EventReads, buckets
from pipeline.store.warehouse.goal_events import GoalEvents


def repeated(keys: pl.Series) -> pl.Series:
    """The keys that occur more than once, each once."""
    # Sorting numbers is several times faster than counting them in a hash table.
    in_order = keys.sort()
    return in_order.filter(in_order == in_order.shift(1)).unique()


def repeated_orders(orders: pl.DataFrame) -> pl.DataFrame:
    """Of `orders` (`rule`, `transaction_key`, `seq`) those that are not the first of rule and transaction."""
    first = pl.col("seq").min().over("rule", "transaction_key")
    return orders.filter(pl.col("seq") != first).select("rule", "seq")


def no_repeated_orders() -> pl.DataFrame:
    """What `repeated_orders` returns where there are none."""
    return pl.DataFrame(schema={"rule": pl.UInt32, "seq": pl.Int64})


# Keys alone are small: those of this many buckets are compared with each other at once.
_BUCKETS_OF_KEYS: Final = 8


class ExperimentRows(NamedTuple):
    """What a bucket of visitors comes to for one experiment.

    `visitors` has a row each, its segments still as text, `orders` those of all goals by local day.
    """

    visitors: pl.DataFrame
    orders: pl.DataFrame
    last_exposed_at: int | None


class ProjectRead:
    """Counts the visitors of several experiments, a bucket of visitors at a time."""

    def __init__(
        self, reads: EventReads, experiments: Sequence[Experiment], rules: CountingRules, *, at_once: int
    ) -> None:
        """Prepare to read about `at_once` events at a time, first finding those that repeat others."""
        self._reads = reads
        self._experiments = experiments
        self._rules = rules
        self._arms = arms_of(experiments)
        self._goals = goals_of(experiments, rules)
        self._at_once = at_once
        self._events = reads.count()
        self._hits = self._find_hits()
        self._repeated_orders = repeated_orders(
            counted_events(self._hits.suspected_orders(), self._goals, no_repeated_orders())
        )

    def __iter__(self) -> Iterator[list[ExperimentRows]]:
        """Bucket after bucket, what there is for each experiment in their order."""
        return map(self._count, buckets(self._events, self._at_once))

    def _find_hits(self) -> GoalEvents:
        for bucket in buckets(self._events, self._at_once * _BUCKETS_OF_KEYS):
            keys = self._reads.event_keys(bucket)
            self._reads.skip_repeats(repeated(keys) if self._reads.is_whole else keys)
        hits = GoalEvents(self._reads, matched_fields(self._experiments))
        for signatures in hits.signatures(self._at_once):
            hits.want(match_goals(signatures, self._experiments))
        hits.collect()
        return hits

    def _count(self, bucket: Bucket) -> list[ExperimentRows]:
        exposures = as_categories(self._reads.exposures(self._arms, bucket))
        exposed = with_day_of_week(first_exposures(exposures, self._rules.timezone))
        counted = counted_events(self._hits.of_visitors(bucket), self._goals, self._repeated_orders)
        done = outcomes(counted, exposed, self._rules)
        return [
            _counted(number, experiment, exposed, done) for number, experiment in enumerate(self._experiments)
        ]


def _counted(number: int, experiment: Experiment, exposed: pl.DataFrame, done: Outcomes) -> ExperimentRows:
    """The part of one experiment."""
    place = exposed["experiment"]
    first, following = place.search_sorted(number), place.search_sorted(number + 1)
    rows = exposed[first:following]
    is_this = pl.col("experiment") == number
    return ExperimentRows(
        visitors=visitor_rows(
            rows.drop("last_exposed_at"),
            done.firsts.filter(is_this),
            len(experiment.goals),
            values_told(experiment),
        ),
        orders=done.orders.filter(is_this).drop("experiment"),
        last_exposed_at=rows.select(pl.col("last_exposed_at").max()).item(),
    )
