"""Whether results that were carried on from run to run are what counting everything anew comes to."""

from dataclasses import dataclass
from typing import Self

import polars as pl

from pipeline.rollup.aggregates import add_up, taken_away
from pipeline.store import aggregates, visitors
from pipeline.store.frames import Cursor


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """An experiment's results at one moment: a digest of its visitors, and all of its sums."""

    digest: tuple[int, ...]
    cells: pl.DataFrame

    @classmethod
    def take(cls, cursor: Cursor, experiment_id: str) -> Self:
        """Read them from the store."""
        return cls(visitors.digest(cursor, experiment_id), aggregates.read_all(cursor, experiment_id))

    def agrees_with(self, other: Self) -> bool:
        """Whether both say the same of every visitor, and of every segment that both sum up."""
        shared = set(self.cells["dimension"]) & set(other.cells["dimension"])
        shared |= {aggregates.EVERYONE, aggregates.SINCE_EXPOSURE}
        difference = add_up([self._of(shared), taken_away(other._of(shared))])
        return self.digest == other.digest and difference.is_empty()

    def _of(self, dimensions: set[str]) -> pl.DataFrame:
        return self.cells.filter(pl.col("dimension").is_in(dimensions))
