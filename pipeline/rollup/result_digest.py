"""Digest of an experiment's results: two counts of the same events agree."""

from dataclasses import dataclass
from typing import Self

import polars as pl

from pipeline.rollup.aggregates import add_up, negate, of_experiment
from pipeline.store.warehouse import aggregates, visitors
from pipeline.store.warehouse.connection import Cursor


@dataclass(frozen=True, slots=True, eq=False)
class ResultDigest:
    """Digest of an experiment's visitors, with all of its sums."""

    digest: tuple[int, ...]
    cells: pl.DataFrame

    @classmethod
    def take(cls, cursor: Cursor, experiment_id: str) -> Self:
        """Read visitors and sums from the store."""
        cells = aggregates.read_all(cursor, experiment_id)
        return cls(visitors.digest(cursor, experiment_id), of_experiment(cells, 0))

    def agrees_with(self, other: Self) -> bool:
        """Compare the visitors, and the sums of every segment that both have."""
        shared = set(self.cells["dimension"]) & set(other.cells["dimension"])
        shared |= {aggregates.EVERYONE, aggregates.SINCE_EXPOSURE}
        difference = add_up([self._of(shared), negate(other._of(shared))])
        return self.digest == other.digest and difference.is_empty()

    def _of(self, dimensions: set[str]) -> pl.DataFrame:
        return self.cells.filter(pl.col("dimension").is_in(dimensions))
