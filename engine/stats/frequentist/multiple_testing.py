"""Multiple-testing adjustments: Holm, Benjamini-Hochberg, and a primary goal first.

All functions take and return log p. NaN marks a comparison that could not be made, and does not count.
"""

import numpy as np

from engine.stats.arrays import BoolArray, FloatArray


def holm(log_p: FloatArray, *, axis: int = -1) -> FloatArray:
    """Adjust p values to control the family-wise error rate, under any dependence.

    The k-th smallest of m p values times m - k + 1, never falling: Holm (1979), "A simple sequentially
    rejective multiple test procedure", Scandinavian Journal of Statistics 6.
    """
    ordered, rank, count = _ordered(log_p, axis)
    scaled = ordered + np.log(np.maximum(count - rank, 1.0))
    return _restored(np.maximum.accumulate(scaled, axis=-1), log_p, axis)


def benjamini_hochberg(log_p: FloatArray, *, axis: int | None = -1) -> FloatArray:
    """Adjust p values to control the false discovery rate.

    The k-th smallest of m p values times m / k, never falling: Benjamini and Hochberg (1995),
    "Controlling the false discovery rate", JRSS B 57. With axis None everything is one family.
    """
    if axis is None:
        return benjamini_hochberg(log_p.ravel()).reshape(log_p.shape)
    ordered, rank, count = _ordered(log_p, axis)
    scaled = ordered + np.log(np.maximum(count, 1.0) / (rank + 1.0))
    lowest = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    return _restored(lowest, log_p, axis)


def prefer_primary(log_p: FloatArray, is_primary: BoolArray, *, axis: int = -1) -> FloatArray:
    """Adjust goals along `axis`: the primary keeps its own level, the others share a false discovery rate.

    The primary goal is the planned hypothesis and pays nothing for the others; those are discoveries
    (Benjamini and Hochberg, 1995). `is_primary` has one flag per goal.
    """
    if is_primary.all():
        return log_p
    flags = np.expand_dims(is_primary, tuple(range(1, log_p.ndim)))
    primary = np.moveaxis(np.broadcast_to(flags, np.moveaxis(log_p, axis, 0).shape), 0, axis)
    others = benjamini_hochberg(np.where(primary, np.nan, log_p), axis=axis)
    return np.where(primary, log_p, others)


def _ordered(log_p: FloatArray, axis: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sort p values along the last axis, with their ranks from 0 and their number."""
    family = np.moveaxis(log_p, axis, -1)
    ordered = np.sort(np.where(np.isnan(family), np.inf, family), axis=-1)
    count = (~np.isnan(family)).sum(axis=-1, keepdims=True).astype(np.float64)
    return ordered, np.arange(family.shape[-1], dtype=np.float64), count


def _restored(adjusted: FloatArray, log_p: FloatArray, axis: int) -> FloatArray:
    """Undo the sorting, with p at most 1 and NaN where it was."""
    family = np.moveaxis(log_p, axis, -1)
    order = np.argsort(np.where(np.isnan(family), np.inf, family), axis=-1, kind="stable")
    restored = np.empty_like(adjusted)
    np.put_along_axis(restored, order, np.minimum(adjusted, 0.0), axis=-1)
    return np.moveaxis(np.where(np.isnan(family), np.nan, restored), -1, axis)
