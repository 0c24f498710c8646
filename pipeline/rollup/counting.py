"""How due experiments are counted: those that share rules and progress together, in one transaction."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from pipeline.rollup.due import Due, is_over
from pipeline.rollup.publication import Publication
from pipeline.rollup.reading import Reading
from pipeline.rollup.rules import CountingRules, fingerprint, microseconds
from pipeline.store.event_reads import EventReads
from pipeline.store.rollups import Published
from pipeline.store.warehouse import Warehouse

# Where visitors who came back have more than this share of all events, counting everything is quicker.
_MOST_TOUCHED: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How far a run counts: a project's events up to `newest_seq`, known at `now`, `at_once` in memory."""

    project_id: str
    newest_seq: int
    now: datetime
    at_once: int


def count(warehouse: Warehouse, due: Iterable[Due], extent: Extent) -> None:
    """Bring what is due up to `extent`, and publish it; what was published stays until then."""
    together: dict[tuple[CountingRules, int], list[Due]] = defaultdict(list)
    for one in due:
        together[one.rules, one.covered_seq].append(one)
    for (rules, covered), group in together.items():
        opened = EventReads.open(
            warehouse, extent.project_id, until=extent.newest_seq, skip_bots=rules.bot_filtering
        )
        with opened as reads:
            touched = _touched_since(reads, covered)
            _count_together(warehouse, reads, group, touched, extent)


def _touched_since(reads: EventReads, covered: int) -> pl.Series | None:
    """The visitors to count anew; None for all of them."""
    if covered == 0:
        return None
    events = reads.count()
    visitors = reads.keep_to_visitors_since(covered)
    if reads.count() <= _MOST_TOUCHED * events:
        return visitors
    reads.keep_to_all()
    return None


def _count_together(
    warehouse: Warehouse, reads: EventReads, group: Sequence[Due], touched: pl.Series | None, extent: Extent
) -> None:
    rules = group[0].rules
    reading = Reading(reads, [one.experiment for one in group], rules, at_once=extent.at_once)
    with warehouse.transaction() as cursor:
        publications = [
            Publication(cursor, one.experiment, before=None if touched is None else one.before)
            for one in group
        ]
        if touched is not None:
            for publication in publications:
                publication.take_out(touched)
        for bucket in reading:
            for publication, counted in zip(publications, bucket, strict=True):
                publication.add(counted)
        for publication, one in zip(publications, group, strict=True):
            publication.publish(_record(one, extent))


def _record(due: Due, extent: Extent) -> Published:
    return Published(
        experiment_id=due.experiment.id,
        fingerprint=fingerprint(due.experiment, due.rules),
        rules=due.rules.to_json(),
        covered_seq=extent.newest_seq,
        as_of=microseconds(extent.now),
        last_exposed_at=None,
        variants=tuple(variant.id for variant in due.experiment.variants),
        goals=tuple(goal.id for goal in due.experiment.goals),
        dimensions=(),
        is_final=is_over(due.experiment, extent.now),
    )
