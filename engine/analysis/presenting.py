"""Numbers out of arrays, as results hold them: None where there is none."""

import math

import numpy as np

from engine.analysis.judgement import Judgement
from engine.analysis.result import Interval


def number(value: float | np.floating) -> float | None:
    """The number, or None for one that does not exist or is infinite."""
    return float(value) if math.isfinite(value) else None


def between(low: float, high: float, level: float) -> Interval | None:
    """An interval; None where it does not exist, and a bound None where it is infinite."""
    if math.isnan(low) or math.isnan(high):
        return None
    return Interval(low=number(low), high=number(high), level=level)


def improvement_interval(judgement: Judgement, goal: int, variant: int) -> Interval | None:
    """The interval of the improvement at the level that the judgement gives it."""
    cell = goal, variant
    effects = judgement.effects
    return between(effects.low[cell], effects.high[cell], float(judgement.interval_levels[cell]))
