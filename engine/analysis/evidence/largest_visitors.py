"""Largest visitors: values of the visitors who may decide a mean or a ratio alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from engine.stats.arrays import ArrayRecord, FloatArray

# So many visitors by value, and as many by denominator, hold the most influential one in 99% of tests.
MOST: Final = 5


class LargeVisitor(NamedTuple):
    """Values of a visitor: of a goal, its denominator, and before the first exposure; None if unknown."""

    value: float
    denominator: float | None = None
    before: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LargestVisitors(ArrayRecord):
    """Values of each goal's largest visitors, goals by variants by 2 · MOST places.

    The first MOST have the largest values in size, the others the largest denominators: a visitor may be
    among both. `value` is in the unit of the goal's metric, with its cap, `denominator` that of a ratio (the
    orders, for revenue per order), and `before` that of before the first exposure; NaN where there is none.
    """

    value: FloatArray
    denominator: FloatArray
    before: FloatArray

    @classmethod
    def none(cls, goals: int, variants: int) -> "LargestVisitors":
        """Return places without visitors."""
        return cls.full((goals, variants, 2 * MOST), np.nan)

    def put(
        self,
        goal: int,
        variant: int,
        *,
        by_value: Sequence[LargeVisitor],
        by_denominator: Sequence[LargeVisitor] = (),
    ) -> None:
        """Write the visitors of a goal and variant, the largest first, in place."""
        for first, visitors in ((0, by_value), (MOST, by_denominator)):
            for place, one in enumerate(visitors[:MOST], start=first):
                for name, number in one._asdict().items():
                    getattr(self, name)[goal, variant, place] = np.nan if number is None else number
