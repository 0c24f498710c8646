"""One read of a project's events for all experiments that share counting rules and their end.

Of events with one id, and of orders with one transaction, only the first counts. The events are read in
chunks, once; what may count is kept in buckets of visitors.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from engine.design.experiment import Experiment
from pipeline.rollup.count_visitors import (
    find_first_exposures,
    join_outcomes,
    sum_outcomes,
)
from pipeline.rollup.counting_rules import NOT_OF_RULES, CountingRules, extra_columns, goal_rows, variant_rows
from pipeline.rollup.first_segments import complete_segments, lacks_type
from pipeline.rollup.goals.counted_goals import counted_goals
from pipeline.rollup.goals.goal_matching import (
    READ_OF_EVENTS,
    match_goals,
    matched_fields,
    number_matches,
    number_rules,
)
from pipeline.rollup.goals.repeated_orders import find_repeated_orders
from pipeline.rollup.goals.visitor_events import VISITOR
from pipeline.rollup.holdout_visitors import starts_of_holdouts, without_seen_before
from pipeline.rollup.partitions import Partitions
from pipeline.rollup.segment_values import as_categories, with_day_of_week
from pipeline.rollup.visitor_units import with_unit_keys, with_units
from pipeline.store.warehouse.event_ranges import Bucket, buckets
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.goal_events import GoalEvents
from pipeline.store.warehouse.visitor_history import collect_visits, read_sights, read_visits

# Keys alone are small, so those of this many buckets are compared at once.
_BUCKETS_OF_KEYS: Final = 8


class CountedVisitors(NamedTuple):
    """Rows of several experiments, by the number of the `experiment`, from a bucket of visitors.

    `visitors` has a row each with segments as categories, `orders` those of all goals by local day,
    `last_exposed_at` the last exposure of each experiment that has any.
    """

    visitors: pl.DataFrame
    orders: pl.DataFrame
    last_exposed_at: Mapping[int, int]


class ProjectRead:
    """Counted visitors of several experiments, a bucket of visitors at a time."""

    def __init__(
        self,
        reader: EventReader,
        experiments: Sequence[Experiment],
        rules: CountingRules,
        *,
        at_once: int,
        folder: Path,
    ) -> None:
        """Read the events, about `at_once` at a time, into buckets; those beyond memory are in `folder`."""
        self._reader = reader
        self._experiments = experiments
        self._rules = rules
        self._at_once = at_once
        self._events = reader.count()
        self._buckets = buckets(self._events, at_once)
        self._folder = folder
        # One kind for all columns and chunks, so that their rows can be put together.
        self._kind = pl.Categorical(pl.Categories.random())
        self._chunks = reader.chunks(at_once)
        self._skip_repeats()
        self._hits, self._repeated_orders = self._read_hits()
        self._exposures, is_type_missing = self._read_exposures()
        self._starts = starts_of_holdouts(experiments)
        self._sights = self._read_sights(of_users_only=not is_type_missing and not self._starts)
        self._has_visits = collect_visits(reader)

    def __iter__(self) -> Iterator[CountedVisitors]:
        """Yield the rows of the experiments, bucket after bucket."""
        return (self._count_bucket(number, bucket) for number, bucket in enumerate(self._buckets))

    def _skip_repeats(self) -> None:
        for bucket in buckets(self._events, self._at_once * _BUCKETS_OF_KEYS):
            keys = self._reader.event_keys(bucket)
            self._reader.skip_repeats(find_repeated_keys(keys))

    def _partitions(self, key: str = "visitor_key") -> Partitions:
        return Partitions(key, self._buckets, self._folder)

    def _read_hits(self) -> tuple[Partitions, Partitions]:
        """Read the events that match goals, and find the orders that do not count."""
        events = GoalEvents(self._reader, matched_fields(self._experiments))
        self._goals = self._select_goal_events(events)
        hits, orders, repeated = self._partitions(), self._partitions("transaction_key"), self._partitions()
        for chunk in self._chunks:
            rows = events.read(chunk).with_columns(pl.col("currency").cast(self._kind))
            hits.add(rows.drop("transaction_key"))
            orders.add(rows.filter(pl.col("transaction_key").is_not_null()))
        rules = self._goals.unique(["match", "rule"], keep="any").drop(NOT_OF_RULES)
        for number in range(len(self._buckets)):
            repeated.add(find_repeated_orders(orders.take(number), rules, self._rules.factors))
        return hits, repeated

    def _select_goal_events(self, events: GoalEvents) -> pl.DataFrame:
        """Select the events that match a goal; return the rows of goals for each `match`."""
        goals = [counted.goal for counted in counted_goals(self._experiments)]
        numbers = number_rules(goals, events.read_named_goals())
        rows = goal_rows(self._experiments, self._rules, numbers)
        rules = rows.unique("rule", keep="any").select("rule", *READ_OF_EVENTS)
        goal_of = dict(zip(numbers, goals, strict=True))
        pairs = [match_goals(signatures, goal_of) for signatures in events.read_signatures(self._at_once)]
        matches, rules_of = number_matches(pl.concat([NO_PAIRS, *pairs]).join(rules, on="rule"))
        events.select(matches, find_repeated_keys(events.read_transactions()))
        return rules_of.join(rows.with_columns(pl.col("goal_currency").cast(self._kind)), on="rule")

    def _read_exposures(self) -> tuple[Partitions, bool]:
        """Read the exposures, and tell whether the type of some visitor has to be derived."""
        variants = variant_rows(self._experiments)
        found, is_type_missing = self._partitions(), False
        with_users = any(one.unit == "user" for one in self._experiments)
        for chunk in self._chunks:
            exposures = self._reader.exposures(variants, chunk, with_users=with_users)
            rows = with_unit_keys(as_categories(exposures, self._kind), self._experiments)
            is_type_missing = is_type_missing or bool(rows.select(lacks_type().any()).item())
            found.add(rows)
        return found, is_type_missing

    def _read_sights(self, *, of_users_only: bool) -> Partitions | None:
        if of_users_only and not self._reader.has_identities:
            return None
        sights = self._partitions()
        for chunk in self._chunks:
            sights.add(read_sights(self._reader, chunk, of_users_only=of_users_only))
        return sights

    def _count_bucket(self, number: int, bucket: Bucket) -> CountedVisitors:
        firsts = find_first_exposures(self._exposures.take(number), self._rules.timezone)
        sights = None if self._sights is None else self._sights.take(number)
        if sights is not None and self._starts:
            firsts = without_seen_before(firsts, sights, self._starts)
        visits = None
        if self._has_visits:
            visits = read_visits(self._reader, firsts.select(*VISITOR, "seq"), bucket)
        completed = complete_segments(firsts, visits, sights)
        exposed = with_day_of_week(with_units(completed, self._experiments))
        repeated, hits = self._repeated_orders.take(number), self._hits.take(number)
        exposed = self._counted_from(exposed, hits)
        outcomes = sum_outcomes(hits, exposed, self._goals, repeated, self._rules)
        goals = max(len(experiment.goals) for experiment in self._experiments)
        extra = {name for experiment in self._experiments for name in extra_columns(experiment)}
        last_exposed = (
            exposed.drop_nulls("last_exposed_at").group_by("experiment").agg(pl.col("last_exposed_at").max())
        )
        return CountedVisitors(
            join_outcomes(exposed.drop("last_exposed_at"), outcomes.firsts, goals, sorted(extra)),
            outcomes.orders,
            dict(last_exposed.iter_rows()),
        )

    def _counted_from(self, exposed: pl.DataFrame, _hits: pl.DataFrame) -> pl.DataFrame:
        """Return the visitors to count, with the time and the day from which their outcomes count."""
        return exposed


# The pairs of no events; see `match_goals`.
NO_PAIRS: Final = pl.DataFrame(schema={"signature": pl.Int64, "rule": pl.UInt32})


def find_repeated_keys(keys: pl.Series) -> pl.Series:
    """Find the keys that occur more than once, each listed once."""
    # Sorting is several times faster here than counting in a hash table.
    in_order = keys.sort()
    return in_order.filter(in_order == in_order.shift(1)).unique()
