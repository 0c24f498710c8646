"""Index of one project: first assignments of visitors, exposures, and links of visitors and users.

It is fed with events as they are acknowledged, by the rules by which queries read those that are stored.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.design.units import is_clustered
from pipeline.assignment.link_index import LinkIndex
from pipeline.assignment.pair_table import MAX_RECENT, PairTable
from pipeline.assignment.unit_keys import key_of_row, member_key
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.events import SENDER_BITS, TRUSTED_BITS
from pipeline.store.warehouse.identities import BROWSERS_LATER
from pipeline.store.warehouse.visitor_history import (
    ASSIGNING,
    EXPOSED,
    EXPOSURE,
    PLACE_SHIFT,
    AssignmentRule,
    EventMark,
)

_TRUSTED: Final = frozenset(sender for sender, bit in SENDER_BITS.items() if bit & TRUSTED_BITS)


@dataclass(frozen=True, slots=True)
class NumberedRule:
    """The rule of an experiment under the number that stands for it; never given to another rule."""

    number: int
    rule: AssignmentRule
    # Of each variant.
    positions: Mapping[str, int]
    is_clustered: bool

    @classmethod
    def of(cls, number: int, rule: AssignmentRule) -> "NumberedRule":
        """Number a rule."""
        positions = {variant: place for place, variant in enumerate(rule.variant_ids)}
        return cls(number, rule, positions, is_clustered(rule.unit))

    def keys_of(self, row: EventRow) -> tuple[int, ...]:
        """Return the keys of an event: of its visitor, or of its unit and of the visitor in that."""
        if (key := key_of_row(self.rule.unit, row)) is None:
            return ()
        return (key, member_key(row.visitor_key, key)) if self.is_clustered else (key,)


@dataclass(frozen=True, slots=True)
class FirstAssignment:
    """The first assignment of a visitor or unit in one experiment."""

    seq: int
    variant_id: str
    # Whether the visitor has an exposure that counts.
    is_exposed: bool

    @classmethod
    def of(cls, rule: AssignmentRule, place: int) -> "FirstAssignment":
        """Read the place of a pair."""
        return cls(place >> PLACE_SHIFT, rule.variant_ids[place & (EXPOSED - 1)], bool(place & EXPOSED))


class AssignmentIndex:
    """First assignments by numbered rules, and links, of one project.

    One thread at a time feeds it and changes rules; look-ups wait for nothing.
    """

    def __init__(self) -> None:
        """Begin without rules and events."""
        # By experiment id; replaced as a whole, so that a look-up goes on with the rules that it found.
        self.rules: Mapping[str, NumberedRule] = {}
        self.next_number = 0
        # Numbers of rules whose stored events are still to be read.
        self.unread: set[int] = set()
        self.assignments = PairTable(np.uint32, flags=EXPOSED)
        self.links = LinkIndex()
        # The newest event that was fed or read.
        self.newest: EventMark | None = None

    @property
    def tables(self) -> Mapping[str, PairTable]:
        """The tables, by the names that they have in files."""
        return {
            "assignments": self.assignments,
            "links_of_visitors": self.links.of_visitors,
            "links_of_users": self.links.of_users,
        }

    @property
    def is_crowded(self) -> bool:
        """Whether so many pairs are recent that they belong into arrays."""
        return any(table.recent_count >= MAX_RECENT for table in self.tables.values())

    @property
    def newest_seq(self) -> int:
        """Number of the newest event; 0 without events."""
        return 0 if self.newest is None else self.newest.seq

    def add_rules(self, rules: Iterable[AssignmentRule]) -> None:
        """Feed by these rules from now on; new ones are `unread` until their stored events are merged."""
        added: dict[str, NumberedRule] = {}
        for rule in rules:
            known = self.rules.get(rule.experiment_id)
            if known is None or known.rule != rule:
                added[rule.experiment_id] = NumberedRule.of(self.next_number, rule)
                self.unread.add(self.next_number)
                self.next_number += 1
        self.rules = {**self.rules, **added}

    def has_rules(self, rules: Iterable[AssignmentRule]) -> bool:
        """Tell whether the index is fed by all of these rules."""
        return all((one := self.rules.get(rule.experiment_id)) and one.rule == rule for rule in rules)

    def number_rules(self, rules: Mapping[int, AssignmentRule], next_number: int) -> None:
        """Take over rules with their numbers, whose stored events are in the tables."""
        self.rules = {rule.experiment_id: NumberedRule.of(number, rule) for number, rule in rules.items()}
        self.next_number = next_number

    def drop_rules(self, kept: Iterable[AssignmentRule]) -> bool:
        """Forget the rules of other experiments than those of `kept`; tell whether there were any."""
        kept_ids = {rule.experiment_id for rule in kept}
        remaining = {one: known for one, known in self.rules.items() if one in kept_ids}
        is_shorter = len(remaining) < len(self.rules)
        if is_shorter:
            self.rules = remaining
        return is_shorter

    def forget_units(self) -> None:
        """Forget the rules and sorted pairs of experiments that assign other units than visitors."""
        kept = [known for known in self.rules.values() if not known.is_clustered]
        if self.drop_rules(known.rule for known in kept):
            self.assignments.keep([known.number for known in kept])

    def feed(self, first_seq: int, rows: Sequence[EventRow]) -> None:
        """Add acknowledged events, numbered from `first_seq` on."""
        holdouts = [known for known in self.rules.values() if known.rule.is_holdout]
        for seq, row in enumerate(rows, first_seq):
            for holdout in holdouts:
                if row.occurred_at < holdout.rule.started_us and row.visitor_id is not None:
                    # In front of every event, as in `first_places`.
                    self.assignments.add(row.visitor_key, holdout.number, len(holdout.rule.variant_ids) - 1)
            if row.experiment_id is not None and (known := self.rules.get(row.experiment_id)):
                self._assign(seq, row, known)
            if row.user_key is not None and row.visitor_id is not None:
                place = seq if row.sender in _TRUSTED else seq + BROWSERS_LATER
                self.links.add(row.visitor_key, row.user_key, place)
        self.note(EventMark(first_seq + len(rows) - 1, rows[-1].event_key, rows[-1].received_at))

    def note(self, newest: EventMark | None) -> None:
        """Note an event as the newest one, where it is."""
        if newest is not None and newest.seq > self.newest_seq:
            self.newest = newest

    def firsts_of(
        self, visitor_key: int, rules: Iterable[NumberedRule]
    ) -> Iterator[tuple[str, FirstAssignment]]:
        """Yield the id of each experiment of visitors with an assignment of this one, and the first."""
        found = {number: place for place, number in self.assignments.of(visitor_key)}
        if not found:
            return
        for known in rules:
            if not known.is_clustered and (place := found.get(known.number)) is not None:
                yield known.rule.experiment_id, FirstAssignment.of(known.rule, place)

    def first_of(self, key: int, known: NumberedRule) -> FirstAssignment | None:
        """Return the first assignment of a key in one experiment."""
        found = (place for place, number in self.assignments.of(key) if number == known.number)
        return next((FirstAssignment.of(known.rule, place) for place in found), None)

    def _assign(self, seq: int, row: EventRow, known: NumberedRule) -> None:
        position = known.positions.get(row.variant_id or "")
        if (
            position is None
            or row.type not in ASSIGNING
            or row.not_counted is not None
            or row.received_at < known.rule.started_us
        ):
            return
        exposed = EXPOSED if row.type == EXPOSURE else 0
        for key in known.keys_of(row):
            self.assignments.add(key, known.number, (seq << PLACE_SHIFT) | exposed | position)
