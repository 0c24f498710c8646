"""Moments out of sums of whole numbers: whole up to the last division, so that nothing cancels."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from engine.analysis.evidence.totals import IntArray
from engine.stats.moments import Moments

ObjectArray = npt.NDArray[np.object_]


def moments_of_sums(n: IntArray, total: ObjectArray, squares: ObjectArray) -> Moments:
    """Moments of `n` values from their sums and sums of squares, arrays of Python's own whole numbers."""
    counts = np.maximum(n, 1).astype(object)
    mean: Any = total / counts
    m2: Any = (counts * squares - total * total) / counts
    return Moments(n.astype(np.float64), mean.astype(np.float64), m2.astype(np.float64))


def whole_numbers(
    column: pl.Series, place: tuple[npt.NDArray[Any], ...], shape: tuple[int, ...]
) -> ObjectArray:
    """Numbers of up to 128 bits, each in its place of an array; those of one place add up."""
    laid_out = np.full(shape, 0, object)
    np.add.at(laid_out, place, np.array(column.to_list(), object))
    return laid_out
