"""Estimate of an effect that was reported because it was significant."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

# Standard errors around z that hold both ends of an interval, besides twice the critical value.
_FAR = 8.0
_HALVINGS = 45


@dataclass(frozen=True, slots=True)
class SelectedMean:
    """Mean of a z statistic given its selection, with an interval, in standard errors."""

    estimate: float
    low: float
    high: float


def correct_selected(z: float, critical: float, alpha: float) -> SelectedMean:
    """Estimate the mean of a unit normal z that was reported because |z| reached `critical`.

    The estimate maximizes the likelihood conditional on the selection, phi(z - mu) over
    Phi(mu - c) + Phi(-mu - c): Zhong and Prentice (2008), Biostatistics 9, "Bias-reduced estimators and
    confidence intervals for odds ratios in genome-wide association studies". The interval inverts the
    equal-tailed tests of the same conditional distribution, at level 1 - `alpha`. Where |z| is below
    `critical` it is taken to have just reached it. The estimate lies between 0 and z.
    """
    size = max(abs(z), critical)
    lowest, highest = size - 2.0 * critical - _FAR, size + _FAR
    estimate = min(_root(partial(_score, size, critical), 0.0, size), abs(z))
    low = _root(lambda mean: _below(size, critical, mean) - (1.0 - alpha / 2.0), lowest, highest)
    high = _root(lambda mean: _below(size, critical, mean) - alpha / 2.0, lowest, highest)
    return SelectedMean(estimate, low, high) if z >= 0 else SelectedMean(-estimate, -high, -low)


def _score(z: float, critical: float, mean: float) -> float:
    """Differentiate the conditional log likelihood by the mean."""
    densities = math.exp(-0.5 * (mean - critical) ** 2) - math.exp(-0.5 * (mean + critical) ** 2)
    return z - mean - densities / (math.sqrt(2.0 * math.pi) * _selected(critical, mean))


def _below(z: float, critical: float, mean: float) -> float:
    """Compute the chance of a selected statistic to be at most `z`, which falls in the mean."""
    return 1.0 - _normal(mean - z) / _selected(critical, mean)


def _selected(critical: float, mean: float) -> float:
    return _normal(mean - critical) + _normal(-mean - critical)


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return 0.5 * (low + high)
