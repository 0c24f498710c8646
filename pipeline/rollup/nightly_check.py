"""Check of a night: what is stored against what was counted, at the cost of what is new.

Compared are the digests of all events by day of receipt, the rows of all visitors with the published sums,
and the rows of some visitors with a count of their events: those who have changed since the last night, and
one of PARTS in turn.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Final

import polars as pl

from engine.design.project import Project
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.rollup.count_and_publish import MAX_TOUCHED_SHARE, RollupScope, covered_record
from pipeline.rollup.counting_rules import RULES_VERSION, CountingRules, variant_rows
from pipeline.rollup.due import Due, by_rules_and_end
from pipeline.rollup.partitions import partition_files
from pipeline.rollup.read_events import ProjectRead
from pipeline.rollup.result_tables import ResultTables
from pipeline.rollup.whole_counts import (
    ASKED,
    CHANGES,
    EVENTS,
    EXCHANGE_RATES,
    FIRST,
    RULES,
    SUMS,
    TIME_ZONE,
    VERSION,
    VISITORS,
    WEEK,
    WholeCount,
)
from pipeline.store.warehouse import event_digests, nightly_counts, stored_visitors
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.event_digests import Digests
from pipeline.store.warehouse.event_ranges import buckets
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.nightly_counts import NightlyCount
from pipeline.store.warehouse.published import Published

# Visitors by their keys, of which each night has one part: 8 of 256.
PARTS: Final = 32
# Nights are not at the same minute, and the seventh one is not to wait for the eighth.
_WEEK: Final = timedelta(days=7) - timedelta(hours=12)
# The rules that have a reason of their own.
_REASONS: Final = (("timezone", TIME_ZONE), ("exchange_rates", EXCHANGE_RATES))


class NightlyCheck:
    """Check of a project's events up to `scope`, which its published experiments count."""

    def __init__(self, warehouse: Warehouse, project: Project, scope: RollupScope) -> None:
        """Read the events for their digests, and what the last night has left."""
        self._warehouse = warehouse
        self._rules = CountingRules.of(project)
        self._scope = scope
        self._last_exposed_at: dict[str, int | None] = {}
        with warehouse.transaction() as cursor:
            event_digests.cover(cursor, project.id, scope.newest_seq)
            self._last = nightly_counts.find(cursor, project.id)
            self._has_digests = event_digests.are_of_this_form(cursor, project.id)
            self._kept = event_digests.read(cursor, project.id)
            self._digests = event_digests.compute(cursor, project.id)

    def find(self, open_ones: Sequence[Due], *, is_asked: bool) -> WholeCount | None:
        """Find out why everything has to be counted anew; None where all is as it was counted."""
        due = ASKED if is_asked else self._due()
        if self._has_digests and (days := _differing_days(self._kept, self._digests)):
            return WholeCount(EVENTS, days)
        if due is not None or self._last is None:
            return WholeCount(due or FIRST)
        if not open_ones:
            return None
        with self._warehouse.cursor() as cursor:
            different = ResultTables(cursor, open_ones, is_recount=False).differ_from_sums()
        return WholeCount(SUMS, tuple(different)) if different else self._recount(self._last, open_ones)

    def note_passed(self, open_ones: Sequence[Due]) -> dict[str, Published]:
        """Note that all is as it was counted; return the new records of experiments, by id."""
        if self._last is None:
            raise ValueError("nothing was counted whole before")
        records = [
            record._replace(
                last_exposed_at=self._last_exposed_at.get(record.experiment_id, record.last_exposed_at)
            )
            for record in (covered_record(due, self._scope) for due in open_ones)
        ]
        with self._warehouse.transaction() as cursor:
            published_rollups.cover(cursor, records)
            self._note(cursor, self._last._replace(part=_next_part(self._last)))
        return {one.experiment_id: one for one in records}

    def note_whole(self) -> None:
        """Note that everything was counted anew."""
        with self._warehouse.transaction() as cursor:
            counted = NightlyCount(
                whole_at=epoch_microseconds(self._scope.now),
                version=RULES_VERSION,
                rules=self._rules.to_json(),
                checked_seq=0,
                part=self._last.part if self._last else 0,
            )
            self._note(cursor, counted)

    def _note(self, cursor: Cursor, count: NightlyCount) -> None:
        event_digests.replace(cursor, self._scope.project_id, self._digests)
        count = count._replace(checked_seq=self._scope.newest_seq)
        nightly_counts.replace(cursor, self._scope.project_id, count)

    def _due(self) -> str | None:
        """Return the reason to count everything, whatever is stored."""
        last = self._last
        if last is None:
            return FIRST
        if last.version != RULES_VERSION or not self._has_digests:
            return VERSION
        before = CountingRules.from_json(last.rules)
        if before != self._rules:
            changed = (
                reason for field, reason in _REASONS if getattr(before, field) != getattr(self._rules, field)
            )
            return next(changed, RULES)
        age = self._scope.now - from_epoch_microseconds(last.whole_at)
        # Negative where the clock was set back.
        return None if timedelta() <= age < _WEEK else WEEK

    def _recount(self, last: NightlyCount, open_ones: Sequence[Due]) -> WholeCount | None:
        """Count the visitors of this night from their events."""
        for (rules, end), group in by_rules_and_end(open_ones).items():
            experiments = [due.experiment for due in group]
            with self._opened(rules, end) as reader:
                # Of those who are erased since no row tells when they were exposed last.
                for number, moment in reader.last_exposures(variant_rows(experiments)).items():
                    self._last_exposed_at[experiments[number].id] = moment
            with (
                self._opened(rules, end) as reader,
                self._warehouse.cursor() as cursor,
                partition_files(self._warehouse.path.parent) as folder,
            ):
                keys = _keys_of_night(reader, cursor, [one.id for one in experiments], last)
                touched = reader.keep_to_visitors(keys, most_share=MAX_TOUCHED_SHARE)
                if touched is None:
                    return WholeCount(CHANGES)
                read = ProjectRead(reader, experiments, rules, at_once=self._scope.at_once, folder=folder)
                different = ResultTables(cursor, group, is_recount=False).differ_from(touched, read)
                if different:
                    return WholeCount(VISITORS, tuple(different))
        return None

    def _opened(self, rules: CountingRules, end: int) -> AbstractContextManager[EventReader]:
        return EventReader.open(
            self._warehouse,
            self._scope.project_id,
            until=self._scope.newest_seq,
            received_until=end,
            skip_bots=rules.bot_filtering,
        )


def _keys_of_night(
    reader: EventReader, cursor: Cursor, experiment_ids: Sequence[str], last: NightlyCount
) -> pl.Series:
    """List the keys of visitors to count: those with events, or with a row."""
    part = buckets(PARTS, 1)[_next_part(last)]
    keys = [
        reader.visitors_since(last.checked_seq),
        reader.visitors_in(part),
        stored_visitors.read_keys(cursor, experiment_ids, *part),
    ]
    return pl.concat(keys).unique()


def _next_part(last: NightlyCount) -> int:
    return (last.part + 1) % PARTS


def _differing_days(kept: Digests, found: Digests) -> tuple[str, ...]:
    days = sorted(day for day in {*kept, *found} if kept.get(day) != found.get(day))
    return tuple(day.isoformat() for day in days)
