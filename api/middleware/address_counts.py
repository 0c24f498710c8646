"""Counts by network address, in bounded memory."""

from array import array
from typing import Final

_ROWS: Final = 4
_SLOTS: Final = 1 << 16


class AddressCounts:
    """Counts of any number of addresses in 2 MiB; never too low, and hardly ever too high.

    A count-min sketch with conservative update (Estan and Varghese 2002, SIGCOMM). The addresses are given by
    keyed hashes, so that no sender can choose whom to collide with.
    """

    def __init__(self) -> None:
        """Start with zeros."""
        self.rows = [array("Q", bytes(8 * _SLOTS)) for _ in range(_ROWS)]

    def get(self, key: int) -> int:
        """Return the count of a 64-bit key."""
        first, second, third, fourth = self.rows
        # Written out, since every event from a browser asks for six counts.
        return min(
            first[key % _SLOTS],
            second[(key >> 16) % _SLOTS],
            third[(key >> 32) % _SLOTS],
            fourth[(key >> 48) % _SLOTS],
        )

    def add(self, key: int, number: int) -> None:
        """Add a number to the count of a key."""
        total = self.get(key) + number
        for place, row in enumerate(self.rows):
            slot = (key >> 16 * place) % _SLOTS
            row[slot] = max(row[slot], total)
