"""Bins of values for a chart: edges of round numbers, and the values of an arm that fall between them."""

from collections.abc import Sequence
from math import floor, log10
from typing import Final

import numpy as np

from engine.stats.arrays import FloatArray
from engine.stats.frequentist.quantiles import ValueCounts

# Larger values are together in the last bin, or the others would be too narrow to see.
MOST_SHARE: Final = 0.99
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


def nice_step(least: float) -> float:
    """Return the next step of round numbers that is at least as large."""
    size = 10.0 ** floor(log10(least))
    return next(size * step for step in _STEPS if size * step >= least * 0.999)


def without_zeros(counts: ValueCounts) -> ValueCounts:
    """Leave out visitors without a value, most of whom would hide all others."""
    is_value = counts.values != 0
    return ValueCounts(counts.values[is_value], counts.counts[is_value])


def bin_edges(arms: Sequence[ValueCounts], *, most: int) -> FloatArray:
    """Choose about `most` bins of a round width, from the smallest value to the largest but for few of all.

    Every arm has a value. Returns (B + 1,) edges; bins of whole numbers are no narrower than 1.
    """
    low, high = min(float(one.values[0]) for one in arms), max(value_at(one, MOST_SHARE) for one in arms)
    low = min(0.0, low) if low < (high - low) else low
    step = nice_step(max(high - low, abs(high) / most, 1e-9) / most)
    if all((one.values == np.rint(one.values)).all() for one in arms):
        step = max(step, 1.0)
    first, last = floor(low / step), floor(high / step) + 1
    return step * np.arange(first, last + 1, dtype=np.float64)


def count_in_bins(counts: ValueCounts, edges: FloatArray) -> FloatArray:
    """Count an arm's values in each bin, with its lower edge and without its upper one: (B,).

    Larger values are in the last bin.
    """
    place = np.clip(np.searchsorted(edges, counts.values, side="right") - 1, 0, len(edges) - 2)
    sums = np.bincount(place, weights=counts.counts, minlength=len(edges) - 1)
    return np.asarray(sums, np.float64)


def value_at(counts: ValueCounts, part: float) -> float:
    """Return the smallest value up to which there is that share of all."""
    place = np.searchsorted(np.cumsum(counts.counts), part * counts.n)
    return float(counts.values[min(int(place), len(counts.values) - 1)])
