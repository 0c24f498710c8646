"""Numbered automata of several patterns, of bounded size together."""

from collections.abc import Iterable
from typing import Final

from engine.design.patterns.automaton import Automaton, compile_automaton

# A few kilobytes in a page, compressed.
MAX_TOTAL_CELLS: Final = 30_000
# To compile a hostile one takes a few tenths of a second.
MAX_PATTERNS: Final = 100


class NumberedAutomata:
    """Automata in the order in which their patterns were added, each pattern once."""

    def __init__(self, *, max_total_cells: int = MAX_TOTAL_CELLS, max_patterns: int = MAX_PATTERNS) -> None:
        self._room = max_total_cells
        self._patterns_left = max_patterns
        self._numbers: dict[str, int] = {}
        self.automata: list[Automaton] = []

    def add(self, patterns: Iterable[str]) -> bool:
        """Add valid patterns, all or none; return whether they were added, or were there before.

        A pattern that is too large for a browser is not added, nor what exceeds the number or the size
        together.
        """
        wanted = [pattern for pattern in dict.fromkeys(patterns) if pattern not in self._numbers]
        # What is compiled counts, also where it is not added.
        self._patterns_left -= len(wanted)
        if wanted and self._patterns_left < 0:
            return False
        new = {pattern: compile_automaton(pattern) for pattern in wanted}
        automata = [automaton for automaton in new.values() if automaton is not None]
        cells = sum(len(automaton.table) + len(automaton.starts) for automaton in automata)
        if len(automata) < len(new) or cells > self._room:
            return False
        self._room -= cells
        for pattern in new:
            self._numbers[pattern] = len(self._numbers)
        self.automata += automata
        return True

    def number_of(self, pattern: str) -> int:
        """Return the index in `automata` of a pattern that was added."""
        return self._numbers[pattern]
