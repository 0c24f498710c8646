"""Quantile evidence: the values of a goal's visitors, counted by variant."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from engine.errors import InvalidEvidenceError
from engine.stats.frequentist.quantiles import ValueCounts, estimate_quantiles
from engine.stats.moments import Moments
from engine.stats.value_buckets import ValueBuckets

_LEAST_SHARE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class QuantileEvidence:
    """Values of a goal that is judged on their quantile at `share`, by variant.

    Raises InvalidEvidenceError for a share that is not between 0 and 1.
    """

    share: float
    arms: tuple[ValueCounts, ...]

    def __post_init__(self) -> None:
        if not _LEAST_SHARE < self.share < 1.0 - _LEAST_SHARE:
            raise InvalidEvidenceError(f"the share of a quantile is between 0 and 1, not {self.share}")

    @classmethod
    def of(cls, share: float, arms: tuple[ValueBuckets, ...]) -> Self:
        """Take the buckets of every variant's values."""
        return cls(share, tuple(arm.value_counts() for arm in arms))

    def moments(self) -> Moments:
        """Return moments whose mean is the quantile and whose variance over n is its squared standard error.

        By them everything that takes a mean plans, and shows, the quantile. A quantile with too few visitors
        beyond it has no variance, and so no test.
        """
        n = np.array([arm.n for arm in self.arms])
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
