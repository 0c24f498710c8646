"""Determinization of an automaton: at each place of a text it is in one state."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from engine.design.patterns.character_sets import LAST, WORD, Ranges
from engine.design.patterns.nondeterministic import Nondeterministic
from engine.design.patterns.syntax import Boundary
from engine.design.patterns.work import TooLargeError, Work

MAX_STATES: Final = 1_024
# In place of the next state, once the pattern is found.
MATCHED: Final = -1


@dataclass(frozen=True, slots=True)
class _Place:
    """What lies around a place of the text, as far as an assertion can tell."""

    is_start: bool
    is_end: bool
    is_after_word: bool
    is_before_word: bool

    def fits(self, boundary: Boundary) -> bool:
        if boundary == "start":
            return self.is_start
        if boundary == "end":
            return self.is_end
        return (self.is_after_word != self.is_before_word) == (boundary == "word")


@dataclass(frozen=True, slots=True)
class _State:
    """States of the nondeterministic automaton, and what is known of the character before."""

    states: frozenset[int]
    is_start: bool
    is_after_word: bool


@dataclass(frozen=True, slots=True)
class Machine:
    """An automaton that may have states that behave alike."""

    starts: tuple[int, ...]
    classes: tuple[int, ...]
    width: int
    rows: list[list[int]]
    ends: frozenset[int]


@dataclass(slots=True)
class Determinization:
    """Subset construction, bounded in states and steps (Rabin and Scott 1959)."""

    automaton: Nondeterministic
    work: Work = field(default_factory=Work)
    numbers: dict[_State, int] = field(default_factory=dict)

    def run(self) -> Machine:
        """Find every state that a text can lead to, numbered from the first; TooLargeError."""
        starts, classes, members = _character_classes(self.automaton, self.work)
        has_words = any(kind in {"word", "no_word"} for kind, _ in self.automaton.assertions.values())
        has_starts = any(kind == "start" for kind, _ in self.automaton.assertions.values())
        waiting = [_State(frozenset({self.automaton.start}), has_starts, is_after_word=False)]
        self.numbers[waiting[0]] = 0
        rows: list[list[int]] = []
        ends: set[int] = set()
        for state in waiting:
            if self.automaton.end in self._reachable(state, is_end=True, is_before_word=False):
                ends.add(self.numbers[state])
            row: list[int] = []
            reachable = {
                is_word: self._reachable(state, is_end=False, is_before_word=is_word)
                for is_word in {has_words and is_word for _, is_word in members}
            }
            for readers, is_word in members:
                found = reachable[has_words and is_word]
                if self.automaton.end in found:
                    row.append(MATCHED)
                    continue
                self.work.count_visits(min(len(found), len(readers)))
                targets = {self.automaton.characters[reader][1] for reader in found & readers}
                self.work.count(len(targets))
                # The search begins anew at every place.
                following = _State(frozenset(targets | {self.automaton.start}), False, has_words and is_word)
                if following not in self.numbers:
                    if len(self.numbers) >= MAX_STATES:
                        raise TooLargeError
                    self.numbers[following] = len(self.numbers)
                    waiting.append(following)
                row.append(self.numbers[following])
            rows.append(row)
        return Machine(starts, classes, len(members), rows, frozenset(ends))

    def _reachable(self, state: _State, *, is_end: bool, is_before_word: bool) -> frozenset[int]:
        """Return every state that is reached without reading a character."""
        place = _Place(state.is_start, is_end, state.is_after_word, is_before_word)
        found = set(state.states)
        self.work.count(len(found))
        waiting = list(found)
        while waiting:
            source = waiting.pop()
            targets: Iterable[int] = self.automaton.free.get(source, ())
            if source in self.automaton.assertions:
                boundary, target = self.automaton.assertions[source]
                targets = (target,) if place.fits(boundary) else ()
            for target in targets:
                self.work.count(1)
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)


def _character_classes(
    automaton: Nondeterministic, work: Work
) -> tuple[tuple[int, ...], tuple[int, ...], list[tuple[frozenset[int], bool]]]:
    """Divide the code points into classes that no set of the pattern tells apart.

    Returns the start and the class of each range, and of each class the states that read it and whether it is
    of word characters.
    """
    sets = {reader: ranges for reader, (ranges, _) in automaton.characters.items()}
    edges = {0}
    for ranges in (*sets.values(), WORD):
        edges |= {edge for first, last in ranges for edge in (first, last + 1)}
    all_starts = sorted(edge for edge in edges if edge <= LAST)
    readers_of = _readers_of(sets, all_starts, work)
    word_at = _readers_of({0: WORD}, all_starts, work)
    numbers: dict[tuple[frozenset[int], bool], int] = {}
    starts: list[int] = []
    classes: list[int] = []
    for index, start in enumerate(all_starts):
        number = numbers.setdefault((readers_of[index], bool(word_at[index])), len(numbers))
        if not classes or classes[-1] != number:
            starts.append(start)
            classes.append(number)
    return tuple(starts), tuple(classes), list(numbers)


def _readers_of(sets: Mapping[int, Ranges], starts: list[int], work: Work) -> list[frozenset[int]]:
    """Return of each range of code points the sets that hold it."""
    held: list[set[int]] = [set() for _ in starts]
    for name, ranges in sets.items():
        for first, last in ranges:
            spanned = range(bisect_right(starts, first) - 1, bisect_right(starts, last))
            work.count_visits(len(spanned))
            for index in spanned:
                held[index].add(name)
    return [frozenset(names) for names in held]
