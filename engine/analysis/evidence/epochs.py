"""Evidence by weight epoch."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from engine.errors import InvalidEvidenceError
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.moments import Moments

# A visitor is assigned on arrival and counted once the variant is seen: for so long after a change, some of
# those who are counted were still assigned by the weights before.
SETTLING = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEvidence:
    """Totals by the epoch of the first exposure: E epochs in order of time, G goals, V variants.

    `weights[e, v]` split new visitors from `started_at[e]` on, until the next epoch began. `visitors[e, v]`,
    `conversions[e, g, v]` and `revenue[e, g, v]` are as in Evidence, and add up over e to what is there.
    `settled[e, v]` of the visitors came at least SETTLING after the change; in the first epoch, all.
    `values[e, g, v]` are the moments of each goal's metric where that is a mean: for revenue, those of cents,
    and for a ratio those of its linearization within the epoch, by the ratio of all variants.
    `observed[e, g, v]` of the visitors have a known outcome; None where all have.
    Raises InvalidEvidenceError for numbers that can't have been observed together.
    """

    started_at: tuple[datetime, ...]
    weights: FloatArray
    visitors: IntArray
    settled: IntArray
    conversions: IntArray
    revenue: Moments
    values: Moments
    observed: IntArray | None = None

    def __post_init__(self) -> None:
        epochs, goals, variants = self.conversions.shape
        shape = (epochs, variants)
        counts = (len(self.started_at), variants), self.visitors.shape, self.settled.shape, self.weights.shape
        by_goal = {self.revenue.n.shape, self.values.n.shape}
        if any(count != shape for count in counts) or by_goal != {(epochs, goals, variants)}:
            raise InvalidEvidenceError(
                f"evidence by epoch must be of {epochs} epochs, {goals} goals and {variants} variants"
            )
        if (self.settled < 0).any() or (self.settled > self.visitors).any():
            raise InvalidEvidenceError("settled visitors must lie between 0 and the visitors of their epoch")
        converted = self.conversions
        if (
            (converted < 0).any()
            or (converted > self.trials).any()
            or (self.trials > self.visitors[:, None, :]).any()
        ):
            raise InvalidEvidenceError("conversions must lie between 0 and the visitors of their epoch")
        if not np.isfinite(self.weights).all() or (self.weights < 0).any():
            raise InvalidEvidenceError("weights must be finite and not negative")

    def __len__(self) -> int:
        return len(self.started_at)

    @property
    def trials(self) -> IntArray:
        """Visitors whose outcome is known, epochs by goals by variants."""
        if self.observed is not None:
            return self.observed
        return np.broadcast_to(self.visitors[:, None, :], self.conversions.shape)

    @property
    def shares(self) -> FloatArray:
        """Share of visitors that each variant should get in each epoch; zeros where all weights are."""
        total = self.weights.sum(axis=1, keepdims=True)
        shares: FloatArray = np.divide(self.weights, total, out=np.zeros_like(self.weights), where=total > 0)
        return shares
