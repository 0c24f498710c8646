"""Simulated segments: in some there is an effect, or all have their own."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from engine.calibration.method import FAMILY, Method, MethodOutcome
from engine.stats.arrays import FloatArray
from engine.stats.bayesian.shrinkage import SPREAD_SCALE, shrink
from engine.stats.contingency import Tables, log_odds_ratios, tables_without
from engine.stats.frequentist.multiple_testing import benjamini_hochberg
from engine.stats.frequentist.two_sample import log_p_shares
from engine.stats.log_p_values import log_p_normal

# What an effect is where some segments have one and others not, and around what those that differ lie:
# log odds ratios.
_EFFECT, _CENTRE = 0.3, 0.1
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """So many segments as `count`, each with `visitors` an arm. Effects are log odds ratios.

    Where false discoveries are counted, the first `affected` of them have one. Where coverage is, every
    run has a spread of its own, drawn from the half-normal prior, by which its effects differ.
    """

    rate: float
    visitors: int
    affected: int = 0
    count: int = 10
    arms: int = 2
    metric = "conversion by segment"

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"{self.count} segments" + (f", {self.affected} real" if self.affected else "")

    @property
    def detectable(self) -> float:
        """The scale of the spread."""
        return SPREAD_SCALE

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "Segmented":
        """Run it `runs` times; `lift` is the scale of the spread, 0 where false discoveries are counted."""
        shape = (runs, self.count)
        if lift:
            spread = np.abs(rng.normal(0.0, lift, (runs, 1)))
            effects = _CENTRE + spread * rng.standard_normal(shape)
        else:
            effects = np.broadcast_to(np.where(np.arange(self.count) < self.affected, _EFFECT, 0.0), shape)
        control = rng.binomial(self.visitors, self.rate, shape)
        hits = rng.binomial(self.visitors, special.expit(special.logit(self.rate) + effects))
        tables = Tables.of(control, self.visitors, hits, self.visitors)
        return Segmented(case=self, lift=lift, lifts=effects[:, None], tables=tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmented:
    """Conversions, runs by segments, and the true effects, runs by 1 by segments."""

    case: Segments
    lift: float
    lifts: FloatArray
    tables: Tables


def _effects(sample: Segmented) -> MethodOutcome:
    """Which segments have an effect, and what to believe of it."""
    odds = log_odds_ratios(sample.tables)
    log_p = benjamini_hochberg(log_p_shares(sample.tables))
    found = shrink(odds, alpha=FAMILY)
    called = np.where(log_p <= np.log(FAMILY), np.sign(odds.value), 0.0).astype(np.int64)
    return MethodOutcome(called[:, None], found.low[:, None], found.high[:, None], found.mean[:, None])


def _differences(sample: Segmented) -> MethodOutcome:
    """Which segments differ from all others together; no intervals are shown of that."""
    whole = _all(sample.tables)
    gap = log_odds_ratios(sample.tables).minus(log_odds_ratios(tables_without(sample.tables, whole)))
    log_p = benjamini_hochberg(log_p_normal(gap.z))
    called = np.where(log_p <= np.log(FAMILY), np.sign(gap.value), 0.0).astype(np.int64)
    base = special.logit(sample.case.rate)
    shares = special.expit(base + sample.lifts)
    rest = (shares.sum(axis=-1, keepdims=True) - shares) / (sample.case.count - 1)
    truth = base + sample.lifts - special.logit(rest)
    # Where no segment differs from another the truth is 0, and not what rounding leaves of it.
    truth = np.where(np.abs(truth) < _ROUNDING, 0.0, truth)
    nothing = np.full((len(called), 1, sample.case.count), np.nan)
    return MethodOutcome(called[:, None], nothing, nothing, gap.value[:, None], truth)


def _all(tables: Tables) -> Tables:
    """Everybody of each run, beside each of its segments."""
    parts = (tables.control_hits, tables.control_n, tables.hits, tables.n)
    return Tables.of(*(part.sum(axis=-1, keepdims=True) + np.zeros_like(part) for part in parts))


def _is_segmented(case: object) -> bool:
    return isinstance(case, Segments)


def _is_alike(case: object) -> bool:
    return isinstance(case, Segments) and not case.affected


METHODS: tuple[Method, ...] = (
    Method(name="segment effects", read=_effects, fits=_is_segmented, intervals="each"),
    Method(name="segment differs", read=_differences, fits=_is_alike),
)
