"""Totals of all visitors so far, whether their outcomes are known or not."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from engine.stats.arrays import ArrayRecord, IntArray
from engine.stats.moments import Moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals(ArrayRecord):
    """Conversions, and moments of cents per visitor: any leading axes, then goals by variants."""

    conversions: IntArray
    revenue: Moments

    @classmethod
    def nothing(cls) -> Self:
        """Return no totals, without axes."""
        return cls(conversions=np.zeros((), np.int64), revenue=Moments.full((), 0.0))
