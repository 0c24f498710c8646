"""Goals in a table of sums: conversions and moments, row by row."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from engine.errors import InvalidEvidenceError
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Ratio, Revenue
from engine.frames.sums.sum_columns import VISITORS, conversions_of, counts, known_of
from engine.frames.sums.sum_moments import SummedValue, pairs_of
from engine.stats.arrays import IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


@dataclass(frozen=True, slots=True, kw_only=True)
class SumGoal:
    """Sums of one goal by rows of the table.

    `known` visitors have a known outcome. `values` are the moments of a goal that is no share of visitors (of
    a ratio those of its numerator), and `ratio` those of a ratio, whose x is the denominator.
    """

    kind: FrameGoal
    conversions: IntArray
    known: IntArray
    values: Moments | None = None
    ratio: PairedMoments | None = None

    @classmethod
    def of(cls, table: pl.DataFrame, name: str, kind: FrameGoal, *, units: int) -> Self:
        """Read a goal's columns; `units` are the minor units of money. Raises InvalidEvidenceError."""
        known = known_of(table, name) or counts(table, VISITORS)
        conversions = conversions_of(table, name, kind)
        for row, numbers in enumerate(zip(conversions, known, counts(table, VISITORS), strict=True), 1):
            if list(numbers) != sorted(numbers):
                raise InvalidEvidenceError(
                    f"row {row} has {numbers[0]:,} conversions of {name!r}, of {numbers[1]:,} visitors of "
                    f"known outcome and {numbers[2]:,} visitors: each visitor counts once"
                )
        values = ratio = None
        if isinstance(kind, Ratio):
            above, below = (SummedValue(table, part, known) for part in (kind.numerator, kind.denominator))
            values, ratio = above.moments(), pairs_of(below, above)
        elif not kind.is_share:
            values = SummedValue(table, name, known, units if isinstance(kind, Revenue) else None).moments()
        return cls(
            kind=kind,
            conversions=np.array(conversions, np.int64),
            known=np.array(known, np.int64),
            values=values,
            ratio=ratio,
        )
