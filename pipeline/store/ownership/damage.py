"""Damage of a store: parts that are missing, from another store, or older than what was acknowledged."""

from typing import Final

WAY_OUT: Final = (
    "put the missing file back or restore a backup of the whole data folder; `truelift check` tells what is "
    "there, and `truelift serve --accept-loss` goes on with that alone"
)


class DamagedStoreError(Exception):
    """A part of the store is missing or damaged; nothing was changed."""

    def __init__(self, problem: str) -> None:
        """Name the problem; the sentence ends with the way out."""
        self.problem = problem
        super().__init__(f"{problem}: {WAY_OUT}")
