"""Numbers and intervals of results out of arrays: None where there is no finite number."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.analysis.results.variant_result import Interval
from engine.stats.arrays import BoolArray, FloatArray

# Nested lists of one shape, as of goals by variants.
Nested = list[Any]


def number(value: float | np.floating) -> float | None:
    """Return the number; None for one that does not exist or is infinite."""
    return float(value) if math.isfinite(value) else None


def numbers(values: FloatArray, *, where: BoolArray | bool = True) -> Nested:
    """Convert an array to nested lists; None where `where` is False or there is no finite number."""
    return listed(values, where=where & np.isfinite(values))


def listed(values: npt.NDArray[Any], *, where: BoolArray) -> Nested:
    """Convert an array to nested lists; None where `where` is False."""
    cells = values.astype(object)
    cells[~where] = None
    nested: Nested = cells.tolist()
    return nested


def whole_numbers(values: FloatArray, *, where: BoolArray | bool = True) -> Nested:
    """Round the cells of an array with two axes; None where `where` is False or there is no finite number."""
    cells = listed(values, where=where & np.isfinite(values))
    return [[None if value is None else round(value) for value in row] for row in cells]


def p_values(log_p: FloatArray, *, where: BoolArray) -> Nested:
    """Convert log p values, of two axes, to p values; None where `where` is False or there is none."""
    cells = listed(log_p, where=where & np.isfinite(log_p))
    return [[None if log is None else math.exp(log) for log in row] for row in cells]


def no_cells(shape: tuple[int, ...]) -> Nested:
    """Return None for every cell of two axes."""
    rows, columns = shape
    return [[None] * columns for _ in range(rows)]


def records(kind: Callable[..., Any], columns: Mapping[str, Nested]) -> Nested:
    """Build a record of each cell of columns with two axes, which have the names of its fields."""
    return [
        [kind(**dict(zip(columns, cell, strict=True))) for cell in zip(*row, strict=True)]
        for row in zip(*columns.values(), strict=True)
    ]


def interval(low: float, high: float, level: float) -> Interval | None:
    """Build an interval; None where it does not exist, and a bound None where it is infinite."""
    if math.isnan(low) or math.isnan(high):
        return None
    return Interval(low=number(low), high=number(high), level=level)


def intervals(
    low: FloatArray, high: FloatArray, levels: FloatArray, *, where: BoolArray | bool = True
) -> Nested:
    """Build an interval from each cell of arrays with two axes; None where `where` is False."""
    masked = np.where(where, low, np.nan)
    rows = zip(masked.tolist(), high.tolist(), levels.tolist(), strict=True)
    return [[interval(*cell) for cell in zip(*row, strict=True)] for row in rows]
