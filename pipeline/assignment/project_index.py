"""Index of a project that is kept current: read from files and stored events, fed, and written."""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from pipeline.assignment.assignment_index import AssignmentIndex, NumberedRule
from pipeline.assignment.coverage import Coverage
from pipeline.assignment.index_files import IndexFiles, IndexHeader, Tables
from pipeline.assignment.unit_keys import pairs_of
from pipeline.ingest.ingest import Ingest
from pipeline.store.catalog.ids import new_id
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.connections.errors import WarehouseUnavailableError
from pipeline.store.warehouse.identities import read_links
from pipeline.store.warehouse.visitor_history import (
    AssignmentQuery,
    AssignmentRule,
    EventMark,
    count_events,
    first_places,
    newest_event,
)

logger = logging.getLogger(__name__)

# Visitors of about so many events are read at once, which bounds the memory that a query takes.
EVENTS_AT_ONCE: Final = 8_000_000
# How long to wait for acknowledged events to be loaded.
LOAD_SECONDS: Final = 30.0
_KEYS: Final = 2**64


class ProjectIndex:
    """The index of one project, with what is needed to keep it."""

    def __init__(self, project_id: str, warehouse: Warehouse, ingest: Ingest, files: IndexFiles) -> None:
        """Name the project; nothing is read before the first `prepare`."""
        self.project_id = project_id
        self.index = AssignmentIndex()
        # The rules of the last look-up; others are of experiments that have ended.
        self.served: Sequence[AssignmentRule] | None = None
        self._warehouse = warehouse
        self._ingest = ingest
        self._files = files
        self._coverage = Coverage()
        self._is_open = False
        self._is_fed = False
        self._is_removed = False
        # Held while events are fed, and by anything that must not fall between two of them.
        self._feeding = threading.Lock()
        # One reads, sorts or writes at a time.
        self._working = threading.Lock()
        self._has_ended_pairs = False
        self._resolved: tuple[Sequence[AssignmentRule], object, Sequence[NumberedRule]] | None = None
        self._written: IndexHeader | None = None
        # The id of the larger file with the present `base` of each table.
        self._base_id: str | None = None

    def resolved(self, rules: Sequence[AssignmentRule]) -> Sequence[NumberedRule] | None:
        """Return the rules with their numbers; None where the index has to be prepared for them."""
        # In this order, since new rules show only once the index counts as incomplete.
        current, last = self.index.rules, self._resolved
        if not self._coverage.is_complete:
            return None
        if last is not None and last[0] is rules and last[1] is current:
            return last[2]
        numbered = [
            known
            for rule in rules
            if (known := current.get(rule.experiment_id)) is not None and known.rule == rule
        ]
        if len(numbered) < len(rules):
            return None
        self._resolved = (rules, current, numbered)
        return numbered

    def prepare(self, rules: Sequence[AssignmentRule], *, are_all: bool) -> None:
        """Read files and stored events until the index is ready; raises what the store raises.

        With `are_all`, experiments without a rule have ended.
        """
        with self._working:
            if are_all:
                self.served = rules
            if not self._is_open:
                self._open()
            with self._feeding:
                if not self.index.has_rules(rules):
                    self._coverage.require_read(self.index.newest_seq)
                    self.index.add_rules(rules)
                reasons, after_seq = self._coverage.reasons, self._coverage.after_seq
            if not self._coverage.is_complete:
                newest = self._read_stored(after_seq)
                with self._feeding:
                    self.index.note(newest)
                    self._coverage.read = reasons

    def feed(self, first_seq: int, rows: Sequence[EventRow]) -> None:
        """Add acknowledged events."""
        with self._feeding:
            if not self._is_fed:
                return
            try:
                self.index.feed(first_seq, rows)
            except Exception:
                # The events are stored whatever happens here, and can be read.
                logger.exception("the index of project %s is read again", self.project_id)
                self._coverage.require_read(self.index.newest_seq)

    def begin_bulk(self, first_seq: int) -> None:
        """Note a bulk write that begins with a number."""
        with self._feeding:
            self._coverage.begin_bulk(first_seq)

    def end_bulk(self) -> None:
        """Note the end of a bulk write."""
        with self._feeding:
            self._coverage.end_bulk()

    def sort(self) -> None:
        """Move recent pairs into arrays."""
        with self._working:
            self._sort()

    def write(self) -> None:
        """Write what is new to the project's files. Raises OSError; the files are the former ones then."""
        with self._working:
            newest = self._sort()
            if newest is not None and not self._is_removed:
                self._write(newest, whole=self._drop_ended() or self._base_id is None)
        if self._is_removed:
            self._files.remove(self.project_id)

    def erase(self, visitor_keys: Sequence[int], user_keys: Sequence[int]) -> None:
        """Drop what is known of visitors and users, and write the files without them; OSError.

        Keys of units do not tell whose they are: those of all units are read again from the events.
        An event of theirs that arrives meanwhile may be dropped, too: it is stored, and is read at a start.
        """
        with self._working:
            # Files that are not opened yet are made anew from the events.
            self._files.remove(self.project_id)
            self._base_id = self._written = None
            newest = self._sort()
            with self._feeding:
                self.index.assignments.remove(visitor_keys)
                self.index.links.remove(visitor_keys, user_keys)
                self.index.forget_units()
            if newest is not None and self._is_open and not self._is_removed:
                self._write(newest, whole=True)

    def remove(self) -> None:
        """Remove the files for good; waits for nothing."""
        self._is_removed = True
        self._files.remove(self.project_id)

    def _open(self) -> None:
        """Take over what the files hold, and be fed from now on."""
        with self._feeding:
            self._is_fed = True
        self._wait_until_loaded()
        for header, base, delta in self._files.read(self.project_id):
            if self._has(header.newest):
                self._take_over(header, base, delta)
                break
            logger.warning("the assignments of %s are newer than its events: read again", self.project_id)
        self._is_open = True

    def _has(self, newest: EventMark) -> bool:
        """Tell whether the newest event of a file is in the store, which is not so in an older copy."""
        return newest_event(self._warehouse, self.project_id, up_to_seq=newest.seq) == newest

    def _take_over(self, header: IndexHeader, base: Tables, delta: Tables) -> None:
        with self._feeding:
            for name, table in self.index.tables.items():
                table.take_over(base.get(name, ()), delta.get(name, ()))
            self.index.number_rules(header.rules, header.next_number)
            self.index.note(header.newest)
            self._coverage.after_seq = header.newest.seq
        self._base_id, self._written = header.base, header

    def _read_stored(self, after_seq: int) -> EventMark | None:
        """Merge the events after a number, and all events by rules that are unread."""
        self._wait_until_loaded()
        newest = newest_event(self._warehouse, self.project_id)
        unread = set(self.index.unread)
        rules = {one.number: one.rule for one in self.index.rules.values()}
        fresh = {number: rule for number, rule in rules.items() if number in unread}
        known = {number: rule for number, rule in rules.items() if number not in unread}
        # Nothing is written yet, so that the pairs need not be kept apart from those that are.
        is_empty = not len(self.index.assignments.base)
        for query in (*self._queries(known, after_seq), *self._queries(fresh, 0)):
            self.index.assignments.merge(pairs_of(first_places(self._warehouse, query)), whole=is_empty)
        if newest is not None and self._ingest.last_user_seq_of(self.project_id) > after_seq:
            self.index.links.merge(
                read_links(self._warehouse, self.project_id, after_seq=after_seq, up_to_seq=newest.seq)
            )
        self.index.unread -= unread
        return newest

    def _queries(self, rules: Mapping[int, AssignmentRule], after_seq: int) -> Iterator[AssignmentQuery]:
        """Divide the question for first assignments by visitors, in ascending order of their keys."""
        if not rules:
            return
        newest = self._ingest.last_seq_of(self.project_id)
        count = min(newest - after_seq, count_events(self._warehouse, self.project_id))
        parts = 1 + count // EVENTS_AT_ONCE
        for part in range(parts):
            yield AssignmentQuery(
                project_id=self.project_id,
                rules=rules,
                after_seq=after_seq,
                first_key=part * _KEYS // parts,
                last_key=(part + 1) * _KEYS // parts - 1,
            )

    def _wait_until_loaded(self) -> None:
        """Wait until queries find every event that the index was not fed with."""
        if not self._ingest.load(LOAD_SECONDS):
            raise WarehouseUnavailableError("events wait to be loaded; try again in a moment")

    def _sort(self) -> EventMark | None:
        """Move recent pairs into arrays; return the newest event if all events up to it are in there."""
        tables = self.index.tables.values()
        for table in tables:
            # Some are left where memory was short the last time.
            table.sort_frozen()
        with self._feeding:
            newest = self.index.newest if self._coverage.is_certain else None
            for table in tables:
                table.freeze()
        for table in tables:
            table.sort_frozen()
        return newest

    def _drop_ended(self) -> bool:
        """Drop the rules of experiments that have ended, and their pairs at the next write.

        Tells whether pairs were dropped. A look-up that began with a rule has long ended when the pairs go.
        """
        is_shorter = self._has_ended_pairs
        if is_shorter:
            self.index.assignments.keep([one.number for one in self.index.rules.values()])
        with self._feeding:
            self._has_ended_pairs = self.served is not None and self.index.drop_rules(self.served)
        return is_shorter

    def _header(self, newest: EventMark) -> IndexHeader:
        return IndexHeader(
            warehouse=self._files.warehouse_id,
            project=self.project_id,
            base=self._base_id or "",
            newest=newest,
            next_number=self.index.next_number,
            rules={one.number: one.rule for one in self.index.rules.values()},
        )

    def _write(self, newest: EventMark, *, whole: bool) -> None:
        header, tables = self._header(newest), self.index.tables
        if header == self._written and not whole:
            return
        if not whole and not any(table.is_due for table in tables.values()):
            self._files.write_delta(header, {name: table.delta.pages for name, table in tables.items()})
        else:
            self._base_id = None
            for table in tables.values():
                table.merge_delta()
            header = msgspec.structs.replace(header, base=new_id("idx"))
            self._files.write_base(header, {name: table.base.pages for name, table in tables.items()})
            self._base_id = header.base
        self._written = header
