"""Follow-up by days since first exposure: visitors at risk and conversions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from engine.errors import InvalidEvidenceError
from engine.stats.arrays import IntArray

# Conversions later than this many days after the first exposure, its own day included, are not followed.
MOST_DAYS: Final = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUp:
    """First conversions of one goal by days since first exposure; D days, V variants.

    Day 0 is the local calendar day of the exposure. `at_risk[d, v]` visitors were observed for the whole of
    their day d and had not converted before it; `conversions[d, v]` of those did on that day. So every
    visitor converts once at most, and only visitors observed on that whole day are at risk on it.
    Raises InvalidEvidenceError for numbers that can't have been observed together.
    """

    at_risk: IntArray
    conversions: IntArray

    def __post_init__(self) -> None:
        if self.at_risk.shape != self.conversions.shape or self.at_risk.ndim != 2:
            raise InvalidEvidenceError(
                "those at risk and their conversions must be of the same days and variants"
            )
        if ((self.conversions < 0) | (self.conversions > self.at_risk)).any():
            raise InvalidEvidenceError(
                "conversions of a day must lie between 0 and the visitors at risk on it"
            )

    @classmethod
    def of_counts(
        cls, came: Sequence[IntArray], converted: Sequence[IntArray], *, variants: int, today: int
    ) -> Self:
        """Follow visitors up to the day before `today`, which is not over.

        `came` are columns: the day of first exposure, the variant, and how many came; `converted` the same
        with the days since exposure in between. Days count from any day on.
        """
        days = np.unique(came[0])
        visitors = np.zeros((len(days), variants), np.int64)
        hits = np.zeros((len(days), MOST_DAYS, variants), np.int64)
        np.add.at(visitors, (np.searchsorted(days, came[0]), came[1]), came[2])
        followed = converted[1] < MOST_DAYS
        day, since, variant, number = (column[followed] for column in converted)
        np.add.at(hits, (np.searchsorted(days, day), since, variant), number)
        return cls.of_cohorts(visitors, hits, today - days)

    @classmethod
    def of_cohorts(cls, visitors: IntArray, converted: IntArray, whole_days: IntArray) -> Self:
        """Add up cohorts of visitors, each first exposed on one day.

        `visitors[c, v]` are in cohort c, `converted[c, d, v]` of them first converted d days after, and
        `whole_days[c]` are over of all days that the cohort was observed for. Days after the last one with
        a conversion say nothing and are left out.
        """
        before = np.cumsum(converted, axis=1) - converted
        is_over = (np.arange(converted.shape[1]) < whole_days[:, None])[:, :, None]
        at_risk = ((visitors[:, None, :] - before) * is_over).sum(axis=0)
        hits = (converted * is_over).sum(axis=0)
        active = np.flatnonzero(hits.sum(axis=1))
        days = int(active[-1]) + 1 if active.size else 0
        return cls(at_risk=at_risk[:days], conversions=hits[:days])
