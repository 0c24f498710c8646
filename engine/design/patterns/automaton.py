"""Deterministic automaton of a pattern: one step a character, whatever the pattern and the text."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from engine.design.patterns.determinization import MATCHED, Determinization, Machine
from engine.design.patterns.nondeterministic import Nondeterministic
from engine.design.patterns.syntax import UnknownSyntaxError, parse
from engine.design.patterns.work import TooLargeError, Work

# What a browser may have to load for one pattern: states, and cells of the table.
MAX_STATES: Final = 256
MAX_CELLS: Final = 4_096
# In place of half a surrogate pair.
_REPLACEMENT: Final = ord("?")
_SURROGATES: Final = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Automaton:
    """A search for a pattern anywhere in a text, which begins in state 0.

    Code points from `starts[i]` to the next start are of class `classes[i]`. `table[state * width + class]`
    is the next state, MATCHED once the pattern is found. Where the text ends, states in `ends` have found it.
    """

    starts: tuple[int, ...]
    classes: tuple[int, ...]
    width: int
    table: tuple[int, ...]
    ends: tuple[int, ...]

    def matches(self, text: str) -> bool:
        """Return whether the pattern is found; half a surrogate pair reads as a question mark."""
        state = 0
        for character in text:
            code_point = ord(character)
            if code_point in _SURROGATES:
                code_point = _REPLACEMENT
            place = bisect_right(self.starts, code_point) - 1
            state = self.table[state * self.width + self.classes[place]]
            if state == MATCHED:
                return True
        return state in self.ends

    def as_json(self) -> dict[str, Any]:
        """Return the automaton as `automaton.js` reads it."""
        return {
            "starts": self.starts,
            "classes": self.classes,
            "width": self.width,
            "table": self.table,
            "ends": self.ends,
        }


@dataclass(frozen=True, slots=True)
class Compiled:
    """The automaton of a pattern, and the steps that it took.

    None where it is too large for a browser, or cannot be read.
    """

    automaton: Automaton | None
    steps: int


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Compiled:
    """Compile a valid pattern within bounded work."""
    work = Work()
    try:
        machine = Determinization(Nondeterministic.of(parse(pattern)), work).run()
        return Compiled(_minimized(machine, work), work.steps)
    except (TooLargeError, UnknownSyntaxError, RecursionError):
        return Compiled(None, work.steps)


def _minimized(machine: Machine, work: Work) -> Automaton:
    """Merge states that behave alike, and classes that no state tells apart; TooLargeError.

    Moore (1956), Gedanken-experiments on sequential machines.
    """
    groups = [int(state in machine.ends) for state in range(len(machine.rows))]
    count = 0
    while count != len(set(groups)):
        count = len(set(groups))
        # Groups are divided further, never merged.
        if count > MAX_STATES:
            raise TooLargeError
        work.count_visits(len(machine.rows) * machine.width)
        numbers: dict[tuple[int, ...], int] = {}
        groups = [
            numbers.setdefault(
                (groups[state], *(MATCHED if target == MATCHED else groups[target] for target in row)),
                len(numbers),
            )
            for state, row in enumerate(machine.rows)
        ]
    # The first state of a group stands for it; group 0 is that of the first state.
    firsts = {group: state for state, group in reversed(list(enumerate(groups)))}
    columns = [
        tuple(
            MATCHED if (target := machine.rows[firsts[group]][place]) == MATCHED else groups[target]
            for group in range(count)
        )
        for place in range(machine.width)
    ]
    distinct = {column: number for number, column in enumerate(dict.fromkeys(columns))}
    if count * len(distinct) > MAX_CELLS:
        raise TooLargeError
    starts, classes = _merged_ranges(machine, [distinct[column] for column in columns])
    table = tuple(column[group] for group in range(count) for column in distinct)
    ends = tuple(sorted({groups[state] for state in machine.ends}))
    return Automaton(starts, classes, len(distinct), table, ends)


def _merged_ranges(machine: Machine, renamed: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    kept: list[tuple[int, int]] = []
    for start, name in zip(machine.starts, machine.classes, strict=True):
        if not kept or kept[-1][1] != renamed[name]:
            kept.append((start, renamed[name]))
    return tuple(start for start, _ in kept), tuple(name for _, name in kept)
