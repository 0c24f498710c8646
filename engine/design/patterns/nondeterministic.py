"""Nondeterministic automaton of a pattern (Thompson's construction), of a bounded number of states."""

from dataclasses import dataclass, field
from typing import Final

from engine.design.patterns.character_sets import Ranges
from engine.design.patterns.syntax import Assertion, Boundary, Characters, Choice, Node, Repetition, Sequence
from engine.design.patterns.work import TooLargeError

MAX_STATES: Final = 3_000


@dataclass(slots=True)
class Nondeterministic:
    """States from 0 to `size` - 1; each has edges of one kind. `start` leads to `end` over what matches.

    Thompson (1968), Regular expression search algorithm, Communications of the ACM 11.
    """

    size: int = 0
    # Target of states that read a character of a set.
    characters: dict[int, tuple[Ranges, int]] = field(default_factory=dict)
    # Targets of states that read nothing.
    free: dict[int, list[int]] = field(default_factory=dict)
    # Target of states that hold at some places of the text only.
    assertions: dict[int, tuple[Boundary, int]] = field(default_factory=dict)
    start: int = 0
    end: int = 0

    @classmethod
    def of(cls, node: Node) -> "Nondeterministic":
        """Build the automaton of a tree; TooLargeError."""
        automaton = cls()
        automaton.start, automaton.end = automaton._state(), automaton._state()
        automaton._add(node, automaton.start, automaton.end)
        return automaton

    def _state(self) -> int:
        if self.size >= MAX_STATES:
            raise TooLargeError
        self.size += 1
        return self.size - 1

    def _join(self, source: int, target: int) -> None:
        self.free.setdefault(source, []).append(target)

    def _add(self, node: Node, source: int, target: int) -> None:
        """Add states that lead from one state to another over the texts of a node."""
        if isinstance(node, Characters):
            reader = self._state()
            self._join(source, reader)
            self.characters[reader] = (node.ranges, target)
        elif isinstance(node, Assertion):
            holder = self._state()
            self._join(source, holder)
            self.assertions[holder] = (node.boundary, target)
        elif isinstance(node, Sequence):
            for part in node.parts:
                after = self._state()
                self._add(part, source, after)
                source = after
            self._join(source, target)
        elif isinstance(node, Choice):
            for part in node.parts:
                self._add(part, source, target)
        else:
            self._repeat(node, source, target)

    def _repeat(self, node: Repetition, source: int, target: int) -> None:
        for _ in range(node.least):
            source = self._followed(node.part, source)
        if node.most is None:
            loop = self._state()
            self._join(source, loop)
            self._join(self._followed(node.part, loop), loop)
            self._join(loop, target)
            return
        for _ in range(node.most - node.least):
            self._join(source, target)
            source = self._followed(node.part, source)
        self._join(source, target)

    def _followed(self, part: Node, source: int) -> int:
        after = self._state()
        self._add(part, source, after)
        return after
