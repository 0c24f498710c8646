"""Comparable metrics: the visitors that decide a comparison, and what the test of a ratio rests on."""

from typing import Final

import numpy as np

from engine.analysis.comparison.metrics import Metrics
from engine.analysis.evidence.evidence import Evidence
from engine.stats.arrays import BoolArray, FloatArray, IntArray
from engine.stats.paired_moments import PairedMoments

# With more of the denominators in one visitor, A/A tests of heavy ones err too often.
LARGEST_SHARE: Final = 0.2
# Of one cluster. In simulated A/A tests with Pareto (1.2) sizes a side errs in up to 2.8% with less in the
# largest one, and in up to 9.6% with more. They are few: a lower limit would rule out most tests.
LARGEST_CLUSTER: Final = 0.5
# The smaller of two arms up to which skewness hardly matters: 0.8 percentage points on a side at the least
# number of visitors with a value.
_EVEN_SHARE: Final = 0.45


def deciding_visitors(evidence: Evidence) -> IntArray:
    """Count the visitors by whom a comparison is decided, goals by variants.

    Those with a conversion; of ratios those with a numerator other than 0, of whom money per session may have
    hardly any, though every visitor has sessions. Of clusters those with such a numerator.
    """
    values = evidence.values
    if values is None:
        return evidence.conversions
    known = np.where(np.isnan(values.nonzero), least_nonzero(values.orders), values.nonzero)
    is_ratio = values.orders.n.any(axis=-1, keepdims=True)
    return np.where(is_ratio, np.minimum(known.astype(np.int64), evidence.visitors), evidence.conversions)


def largest_shares(evidence: Evidence) -> FloatArray:
    """Compute the largest share that one visitor has of the denominators, goals by variants; 0 elsewhere.

    Where the visitor is not known, the largest share that is possible, as of the values of a quantile.
    """
    values = evidence.values
    if values is None:
        return np.zeros(evidence.conversions.shape)
    total = values.orders.x.total
    known = np.divide(values.largest_orders, total, out=np.zeros(total.shape), where=total > 0)
    shares = np.where(np.isnan(known), most_of_one(values.orders), known)
    for row, quantile in evidence.quantiles.items():
        shares[row] = quantile.most_of_one
    return shares


def are_comparable(
    evidence: Evidence, metrics: Metrics, shares: FloatArray, control: int | None
) -> BoolArray:
    """Flag comparisons whose test is reliable with enough visitors, goals by variants.

    `shares` are the `largest_shares`.
    """
    if control is None:
        return np.ones(evidence.conversions.shape, bool)
    is_known = are_skewnesses_known(evidence.assigned, metrics.is_skewness_known, control)
    return is_known & are_spread(shares, control, largest_allowed(evidence))


def are_spread(shares: FloatArray, control: int, allowed: float = LARGEST_SHARE) -> BoolArray:
    """Flag where no visitor of either arm has too much of the denominators; arms along the last axis."""
    spread: BoolArray = np.maximum(shares, shares[..., [control]]) <= allowed
    return spread


def largest_allowed(evidence: Evidence) -> float:
    """Return the largest share of the denominators that a visitor, or a cluster, may have."""
    return LARGEST_SHARE if evidence.clusters is None else LARGEST_CLUSTER


def are_skewnesses_known(visitors: IntArray, is_known: BoolArray, control: int) -> BoolArray:
    """Flag where the skewness of both arms is known, or cancels as they are of one size.

    Of `visitors` (…, V) and goals `is_known` (…, G, V).
    """
    smaller = np.minimum(visitors, visitors[..., [control]])
    are_even = smaller >= _EVEN_SHARE * (visitors + visitors[..., [control]])
    known: BoolArray = (is_known & is_known[..., [control]]) | are_even[..., None, :]
    return known


def least_nonzero(pairs: PairedMoments) -> FloatArray:
    """Compute the least number of numerators other than 0: (sum y)² / sum y², by Cauchy and Schwarz."""
    squares = pairs.m2_y + pairs.n * pairs.mean_y**2
    total = pairs.n * pairs.mean_y
    return np.floor(np.divide(total**2, squares, out=np.zeros(total.shape), where=squares > 0) + 1e-9)


def most_of_one(pairs: PairedMoments) -> FloatArray:
    """Compute the largest share of the denominators that one visitor can have: sqrt(sum x²) / sum x."""
    total = pairs.n * pairs.mean_x
    norm = np.sqrt(pairs.m2_x + pairs.n * pairs.mean_x**2)
    return np.divide(norm, total, out=np.zeros(total.shape), where=total > 0)
