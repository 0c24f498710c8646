"""One reading of a project's events, which serves all the experiments that count by the same rules."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import polars as pl

from engine.design.experiment import Experiment
from pipeline.rollup.matching import match_goals, types_of
from pipeline.rollup.repeats import repeated, repeated_orders
from pipeline.rollup.rules import CountingRules, arms_of, goals_of
from pipeline.rollup.segments import as_categories, with_day_of_week
from pipeline.rollup.visitors import Outcomes, counted_events, first_exposures, outcomes, visitor_rows
from pipeline.store.event_reads import SIGNATURE_COLUMNS, Bucket, EventReads, buckets

# Keys alone are small: those of this many buckets are compared with each other at once.
_BUCKETS_OF_KEYS: Final = 8


class Counted(NamedTuple):
    """What a bucket of visitors comes to for one experiment.

    `visitors` has a row each, its segments still as text, `orders` those of all goals by local day.
    """

    visitors: pl.DataFrame
    orders: pl.DataFrame
    last_exposed_at: int | None


class Reading:
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
        self._types = types_of(experiments)
        events = reads.count()
        self._buckets = buckets(events, at_once)
        self._key_buckets = buckets(events, at_once * _BUCKETS_OF_KEYS)
        for keys in map(reads.event_keys, self._key_buckets):
            reads.skip_repeats(repeated(keys) if reads.is_whole else keys)
        self._repeated_orders = self._find_repeated_orders()

    def __iter__(self) -> Iterator[list[Counted]]:
        """Bucket after bucket, what there is for each experiment in their order."""
        return map(self._count, self._buckets)

    def _count(self, bucket: Bucket) -> list[Counted]:
        exposures = as_categories(self._reads.exposures(self._arms, bucket))
        exposed = with_day_of_week(first_exposures(exposures, self._rules.timezone))
        signatures = self._reads.signatures(self._types, bucket).with_row_index("signature")
        matched = match_goals(signatures, self._experiments)
        wanted = signatures.join(matched, on="signature", how="semi")
        hits = self._reads.hits(wanted, bucket)
        counted = counted_events(hits, matched, self._goals, self._repeated_orders)
        done = outcomes(counted, exposed, self._rules)
        return [
            _counted(number, len(experiment.goals), exposed, done)
            for number, experiment in enumerate(self._experiments)
        ]

    def _find_repeated_orders(self) -> pl.DataFrame:
        """Pairs of `rule` and `seq`: conversions whose transaction was counted for that goal before."""
        found = [pl.DataFrame(schema={"rule": pl.UInt32, "seq": pl.Int64})]
        for keys in map(self._reads.transaction_keys, self._key_buckets):
            suspects = repeated(keys) if self._reads.is_whole else keys
            if suspects.is_empty():
                continue
            orders = self._reads.orders(suspects)
            signatures = orders.select(SIGNATURE_COLUMNS).unique().with_row_index("signature")
            numbered = orders.join(signatures, on=SIGNATURE_COLUMNS, nulls_equal=True)
            matched = match_goals(signatures, self._experiments)
            found.append(repeated_orders(counted_events(numbered, matched, self._goals, found[0])))
        return pl.concat(found)


def _counted(number: int, goals: int, exposed: pl.DataFrame, done: Outcomes) -> Counted:
    """The part of one experiment."""
    place = exposed["experiment"]
    first, following = place.search_sorted(number), place.search_sorted(number + 1)
    rows = exposed[first:following]
    is_this = pl.col("experiment") == number
    return Counted(
        visitors=visitor_rows(rows.drop("last_exposed_at"), done.firsts.filter(is_this), goals),
        orders=done.orders.filter(is_this).drop("experiment"),
        last_exposed_at=rows.select(pl.col("last_exposed_at").max()).item(),
    )
