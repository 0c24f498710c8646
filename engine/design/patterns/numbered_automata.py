"""Numbered automata of several patterns, of bounded size together."""

from collections.abc import Iterable
from typing import Final

from engine.design.patterns.automaton import Automaton, compile_pattern

# A few kilobytes in a page, compressed.
MAX_TOTAL_CELLS: Final = 30_000
MAX_PATTERNS: Final = 100
# A second or two for hostile ones; a usual pattern takes some thousand.
MAX_TOTAL_STEPS: Final = 1_000_000


class NumberedAutomata:
    """Automata in the order in which their patterns were added, each pattern once."""

    def __init__(
        self,
        *,
        max_total_cells: int = MAX_TOTAL_CELLS,
        max_patterns: int = MAX_PATTERNS,
        max_total_steps: int = MAX_TOTAL_STEPS,
    ) -> None:
        self._room = max_total_cells
        self._patterns_left = max_patterns
        self._steps_left = max_total_steps
        self._numbers: dict[str, int] = {}
        self.automata: list[Automaton] = []

    def add(self, patterns: Iterable[str]) -> bool:
        """Add valid patterns, all or none; return whether they were added, or were there before.

        A pattern that is too large for a browser is not added, nor what exceeds the number, the size or the
        work together.
        """
        wanted = [pattern for pattern in dict.fromkeys(patterns) if pattern not in self._numbers]
        # What is compiled counts, also where it is not added.
        self._patterns_left -= len(wanted)
        if wanted and self._patterns_left < 0:
            return False
        automata: list[Automaton] = []
        for pattern in wanted:
            if self._steps_left <= 0:
                return False
            compiled = compile_pattern(pattern)
            self._steps_left -= compiled.steps
            if compiled.automaton is None:
                return False
            automata.append(compiled.automaton)
        cells = sum(len(automaton.table) + len(automaton.starts) for automaton in automata)
        if cells > self._room:
            return False
        self._room -= cells
        for pattern in wanted:
            self._numbers[pattern] = len(self._numbers)
        self.automata += automata
        return True

    def number_of(self, pattern: str) -> int:
        """Return the index in `automata` of a pattern that was added."""
        return self._numbers[pattern]
