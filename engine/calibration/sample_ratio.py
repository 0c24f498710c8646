"""Simulated splits of visitors, looked at every day: as planned, or with some who got lost."""

from dataclasses import dataclass

import numpy as np

from engine.calibration.method import FAMILY, Method, MethodOutcome
from engine.calibration.trials import DAYS
from engine.stats.arrays import FloatArray
from engine.stats.sequential.sample_ratio import check_split

# The share of its visitors that the last arm loses where something is wrong.
_LOST = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """`visitors` an arm over DAYS days, by equal weights; there is nothing that they do."""

    visitors: int
    arms: int = 2
    rate = 0.0
    metric = "visitors"

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"sample ratio, {self.arms} arms"

    @property
    def detectable(self) -> float:
        """How many more visitors come to the last arm than should: fewer, as some are lost."""
        return -_LOST

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "Arrivals":
        """Run it `runs` times; the last arm gets so many more than its share."""
        weights = np.ones(self.arms)
        weights[-1] += lift
        a_day = self.visitors * self.arms // DAYS
        daily = rng.multinomial(a_day, weights / weights.sum(), (runs, DAYS))
        return Arrivals(case=self, lift=lift, visitors=daily.cumsum(axis=1).astype(np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Visitors so far: runs by days by arms."""

    case: Split
    lift: float
    visitors: FloatArray

    @property
    def lifts(self) -> FloatArray:
        """What is wrong with the split as a whole."""
        return np.array([self.lift])


def _read(sample: Arrivals) -> MethodOutcome:
    """Whether the split is called wrong, in the direction of the last arm; it has no interval."""
    visitors = sample.visitors
    log_p = check_split(visitors, np.ones(sample.case.arms)).log_p
    seen = visitors[..., -1] / visitors[..., :-1].mean(axis=-1) - 1.0
    called = np.where(log_p <= np.log(FAMILY), np.sign(seen), 0.0).astype(np.int64)[..., None]
    nothing = np.full(called.shape, np.nan)
    return MethodOutcome(called, nothing, nothing, seen[..., None])


METHODS: tuple[Method, ...] = (
    Method(name="always valid", read=_read, fits=lambda case: isinstance(case, Split)),
)
