"""What was observed, as arrays: the one input of an analysis, whoever counted it."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Self

import numpy as np
import numpy.typing as npt

from engine.analysis.moments import Moments

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyEvidence:
    """Counts by local calendar day; D days without a gap, G goals, V variants.

    `visitors[d, v]` were first exposed on day d; `conversions[d, g, v]` converted first on day d;
    `revenue_cents[d, g, v]` is of the orders of day d. Each adds up over d to its total.
    """

    days: tuple[date, ...]
    visitors: IntArray
    conversions: IntArray
    revenue_cents: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Totals of G goals by V variants, in the order of the experiment's goals and variants.

    `visitors[v]` is the number of distinct visitors counted; `conversions[g, v]` of those with at least
    one conversion; `revenue[g, v]` the moments of cents per visitor (every visitor counted, zeros
    included; all zero for a goal that carries no money). `several_variants` visitors were seen in more
    than one variant and `bots` were flagged: neither is counted anywhere else.
    """

    visitors: IntArray
    conversions: IntArray
    revenue: Moments
    daily: DailyEvidence
    several_variants: int = 0
    bots: int = 0
    as_of: datetime | None = None
    last_exposure_at: datetime | None = None

    @classmethod
    def empty(cls, goals: int, variants: int, days: tuple[date, ...] = ()) -> Self:
        """Evidence of nothing: zeros of the right shapes."""
        zero = np.zeros((goals, variants))
        return cls(
            visitors=np.zeros(variants, np.int64),
            conversions=np.zeros((goals, variants), np.int64),
            revenue=Moments(zero, zero, zero),
            daily=DailyEvidence(
                days=days,
                visitors=np.zeros((len(days), variants), np.int64),
                conversions=np.zeros((len(days), goals, variants), np.int64),
                revenue_cents=np.zeros((len(days), goals, variants), np.int64),
            ),
        )
