"""Work of compiling a pattern, counted and bounded, so that no pattern occupies a server."""

from dataclasses import dataclass
from typing import Final

# About a tenth of a second.
MAX_STEPS: Final = 200_000
# Visits of a cell of a table, or of a member of a set, that take as long as a step.
VISITS_A_STEP: Final = 8


class TooLargeError(ValueError):
    """A pattern whose automaton is too large, or takes too long to compile."""


@dataclass(slots=True)
class Work:
    """Steps done so far, of which there is a most."""

    steps: int = 0
    most: int = MAX_STEPS

    def count(self, steps: int) -> None:
        """Count steps before they are done; TooLargeError where they are too many."""
        self.steps += steps
        if self.steps > self.most:
            raise TooLargeError

    def count_visits(self, visits: int) -> None:
        """Count visits of cells or members; TooLargeError."""
        self.count(visits // VISITS_A_STEP + 1)
