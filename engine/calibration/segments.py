"""Segments: calibration of false discoveries and of pooled effects."""

from dataclasses import dataclass

import numpy as np
import scipy

from engine.calibration.method import FAMILY, Method, MethodOutcome, cases_of
from engine.stats.arrays import FloatArray
from engine.stats.bayesian.shrinkage import SPREAD_SCALE, shrink
from engine.stats.contingency import Tables, log_odds_ratios, tables_without
from engine.stats.frequentist.multiple_testing import benjamini_hochberg
from engine.stats.frequentist.two_sample import log_p_shares
from engine.stats.log_p_values import log_p_normal

# Log odds ratios: the effect of affected segments, and the mean of effects that differ.
_EFFECT, _CENTRE = 0.3, 0.1
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentsCase:
    """`count` segments with `visitors` per arm each; effects are log odds ratios.

    Under the null hypothesis the first `affected` segments have a fixed effect and the others none. Under
    the alternative each run draws a spread from the half-normal prior, and its effects with that spread.
    """

    rate: float
    visitors: int
    affected: int = 0
    count: int = 10
    arms: int = 2
    metric = "conversion by segment"

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return f"{self.count} segments" + (f", {self.affected} affected" if self.affected else "")

    @property
    def detectable(self) -> float:
        """Scale of the prior on the spread."""
        return SPREAD_SCALE

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "SegmentsSample":
        """Simulate `runs` experiments; `lift` is the scale of the spread, 0 under the null hypothesis."""
        shape = (runs, self.count)
        if lift:
            spread = np.abs(rng.normal(0.0, lift, (runs, 1)))
            effects = _CENTRE + spread * rng.standard_normal(shape)
        else:
            effects = np.broadcast_to(np.where(np.arange(self.count) < self.affected, _EFFECT, 0.0), shape)
        control = rng.binomial(self.visitors, self.rate, shape)
        hits = rng.binomial(self.visitors, scipy.special.expit(scipy.special.logit(self.rate) + effects))
        tables = Tables.of(control, self.visitors, hits, self.visitors)
        return SegmentsSample(case=self, lift=lift, lifts=effects[:, None], tables=tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentsSample:
    """Conversions, runs by segments, and the true effects, runs by 1 by segments."""

    case: SegmentsCase
    lift: float
    lifts: FloatArray
    tables: Tables


def _effects(sample: SegmentsSample) -> MethodOutcome:
    """Test the effect of every segment, with shrunk estimates and intervals."""
    odds = log_odds_ratios(sample.tables)
    log_p = benjamini_hochberg(log_p_shares(sample.tables))
    found = shrink(odds, alpha=FAMILY)
    verdict = np.where(log_p <= np.log(FAMILY), np.sign(odds.value), 0.0).astype(np.int64)
    return MethodOutcome(verdict[:, None], found.low[:, None], found.high[:, None], found.mean[:, None])


def _differences(sample: SegmentsSample) -> MethodOutcome:
    """Test every segment against all others together; without intervals."""
    whole = _all_segments(sample.tables)
    gap = log_odds_ratios(sample.tables).minus(log_odds_ratios(tables_without(sample.tables, whole)))
    log_p = benjamini_hochberg(log_p_normal(gap.z))
    verdict = np.where(log_p <= np.log(FAMILY), np.sign(gap.value), 0.0).astype(np.int64)
    base = scipy.special.logit(sample.case.rate)
    shares = scipy.special.expit(base + sample.lifts)
    rest = (shares.sum(axis=-1, keepdims=True) - shares) / (sample.case.count - 1)
    truth = base + sample.lifts - scipy.special.logit(rest)
    # Equal segments have a true difference of 0, not one of rounding error.
    truth = np.where(np.abs(truth) < _ROUNDING, 0.0, truth)
    nothing = np.full((len(verdict), 1, sample.case.count), np.nan)
    return MethodOutcome(verdict[:, None], nothing, nothing, gap.value[:, None], truth)


def _all_segments(tables: Tables) -> Tables:
    """Tables of all segments together, repeated for each segment."""
    parts = (tables.control_hits, tables.control_n, tables.hits, tables.n)
    return Tables.of(*(part.sum(axis=-1, keepdims=True) + np.zeros_like(part) for part in parts))


METHODS: tuple[Method, ...] = (
    Method(name="segment effects", run=_effects, applies_to=cases_of(SegmentsCase), intervals="each"),
    Method(
        name="segment vs the rest",
        run=_differences,
        applies_to=cases_of(SegmentsCase, lambda case: not case.affected),
    ),
)
