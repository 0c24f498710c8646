"""Quantiles by segment: the values of a goal in each segment, and of all other visitors."""

from dataclasses import dataclass
from typing import Self

from engine.analysis.evidence.quantiles import QuantileEvidence
from engine.stats.arrays import IntArray
from engine.stats.clustered_buckets import ClusteredBuckets

Arms = tuple[ClusteredBuckets, ...]


@dataclass(frozen=True, slots=True)
class SegmentQuantiles:
    """Values of a goal that is judged on their quantile at `share`, of each segment and of all visitors.

    By variant; `everyone` has those of unknown segments, too.
    """

    share: float
    segments: tuple[Arms, ...]
    everyone: Arms

    def of_segments(self) -> list[QuantileEvidence]:
        """Return the quantiles of every segment."""
        return [QuantileEvidence.of(self.share, arms) for arms in self.segments]

    def of_everyone(self) -> QuantileEvidence:
        """Return the quantile of all visitors."""
        return QuantileEvidence.of(self.share, self.everyone)

    def of_rest(self) -> list[QuantileEvidence]:
        """Return the quantiles of all visitors outside each segment."""
        return [
            QuantileEvidence.of(
                self.share,
                [every.without(here) for every, here in zip(self.everyone, arms, strict=True)],
            )
            for arms in self.segments
        ]

    def of(self, rows: IntArray) -> Self:
        """Keep the segments in some rows."""
        return type(self)(self.share, tuple(self.segments[row] for row in rows.tolist()), self.everyone)
