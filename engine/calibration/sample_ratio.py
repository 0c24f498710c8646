"""Sample ratio: calibration of the sequential sample-ratio test with daily looks."""

from dataclasses import dataclass

import numpy as np

from engine.calibration.method import FAMILY, Method, MethodOutcome, cases_of
from engine.calibration.trials import DAYS
from engine.stats.arrays import FloatArray
from engine.stats.sequential.sample_ratio import check_split

# The share of its visitors that the last arm loses under a mismatch.
_LOST = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRatioCase:
    """`visitors` per arm over DAYS days, by equal weights."""

    visitors: int
    arms: int = 2
    rate = 0.0
    metric = "visitors"

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return f"sample ratio, {self.arms} arms"

    @property
    def detectable(self) -> float:
        """Relative excess of visitors in the last arm: negative, as some are lost."""
        return -_LOST

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "SampleRatioSample":
        """Simulate `runs` experiments; `lift` is the relative excess of visitors in the last arm."""
        weights = np.ones(self.arms)
        weights[-1] += lift
        a_day = self.visitors * self.arms // DAYS
        daily = rng.multinomial(a_day, weights / weights.sum(), (runs, DAYS))
        return SampleRatioSample(case=self, lift=lift, visitors=daily.cumsum(axis=1).astype(np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRatioSample:
    """Cumulative visitors: runs by days by arms."""

    case: SampleRatioCase
    lift: float
    visitors: FloatArray

    @property
    def lifts(self) -> FloatArray:
        """True excess of visitors, one for the whole split."""
        return np.array([self.lift])


def _test(sample: SampleRatioSample) -> MethodOutcome:
    """Test the split; the verdict has the direction of the last arm, and there is no interval."""
    visitors = sample.visitors
    log_p = check_split(visitors, np.ones(sample.case.arms)).log_p
    excess = visitors[..., -1] / visitors[..., :-1].mean(axis=-1) - 1.0
    verdict = np.where(log_p <= np.log(FAMILY), np.sign(excess), 0.0).astype(np.int64)[..., None]
    nothing = np.full(verdict.shape, np.nan)
    return MethodOutcome(verdict, nothing, nothing, excess[..., None])


METHODS: tuple[Method, ...] = (Method(name="always valid", run=_test, applies_to=cases_of(SampleRatioCase)),)
