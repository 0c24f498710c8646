"""Quantile evidence: the values of a goal's visitors or of their events, counted by variant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from engine.errors import InvalidEvidenceError
from engine.stats.clustered_buckets import ClusteredBuckets, design_effects
from engine.stats.frequentist.quantiles import ValueCounts, estimate_quantiles
from engine.stats.moments import Moments

_LEAST_SHARE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class QuantileEvidence:
    """Values of a goal that is judged on their quantile at `share`, by variant.

    `visitors` have a value: by default as many as there are values, which may be of their events. One visitor
    has up to the share `most_of_one` of them.
    Raises InvalidEvidenceError for a share that is not between 0 and 1.
    """

    share: float
    arms: tuple[ValueCounts, ...]
    visitors: tuple[int, ...] = ()
    most_of_one: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.visitors:
            object.__setattr__(self, "visitors", tuple(int(arm.n) for arm in self.arms))
        if not self.most_of_one:
            object.__setattr__(self, "most_of_one", (0.0,) * len(self.arms))
        if not _LEAST_SHARE < self.share < 1.0 - _LEAST_SHARE:
            raise InvalidEvidenceError(f"the share of a quantile is between 0 and 1, not {self.share}")

    @classmethod
    def of(cls, share: float, arms: Sequence[ClusteredBuckets]) -> Self:
        """Take the buckets of every variant's values, with errors clustered by visitor."""
        effects = design_effects(arms, share)
        counted = tuple(arm.value_counts(effect) for arm, effect in zip(arms, effects, strict=True))
        of_one = tuple(arm.most_of_one for arm in arms)
        return cls(share, counted, tuple(arm.visitors for arm in arms), of_one)

    def moments(self) -> Moments:
        """Return moments whose mean is the quantile and whose variance over n is its squared standard error.

        n are the visitors. By them everything that takes a mean plans, and shows, the quantile. A quantile
        with too few visitors beyond it has no variance, and so no test.
        """
        n = np.array(self.visitors, np.float64)
        found = [estimate_quantiles(arm, self.share) for arm in self.arms]
        variance = np.nan_to_num([float(one.variance) for one in found])
        values = [_nearest(arm, self.share) for arm in self.arms]
        return Moments(n, np.array(values), variance * n * np.maximum(n - 1.0, 0.0))


def _nearest(arm: ValueCounts, share: float) -> float:
    """Return the quantile; beyond the first or the last value that value, and 0 without any."""
    if not arm.n:
        return 0.0
    value = float(arm.quantiles(share))
    return value if np.isfinite(value) else float(arm.values[0 if share < 0.5 else -1])
