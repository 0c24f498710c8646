"""Moments from sums of whole numbers, arranged in arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from engine.stats.moments import Moments, PairedMoments
from pipeline.store.warehouse.cubes import CUBE_BASE

ObjectArray = npt.NDArray[np.object_]
Place = tuple[npt.NDArray[Any], ...]


def whole_numbers(column: pl.Series, place: Place, shape: tuple[int, ...]) -> ObjectArray:
    """Add integers of up to 128 bits up in the places of an array."""
    totals = np.full(shape, 0, object)
    np.add.at(totals, place, np.array(column.to_list(), object))
    return totals


COHORT = "cohort_"
"""Beginning of the columns with sums by the day of first exposure."""


def moments_of(n: npt.ArrayLike, cells: pl.DataFrame, place: Place, *, cohort: str = COHORT) -> Moments:
    """Take the moments of what sums add up from the columns that begin with `cohort`.

    `n` has the number of visitors and the shape of the result, and `place` the place of each row.
    """
    shape = np.shape(n)
    total, squares, high, low = (
        whole_numbers(cells[f"{cohort}{power}"], place, shape)
        for power in ("total", "squared", "cubed_high", "cubed_low")
    )
    return Moments.of_sums(n, total, squares, high * CUBE_BASE + low)


def paired_moments(
    n: npt.ArrayLike,
    x: tuple[pl.DataFrame, Place],
    y: tuple[pl.DataFrame, Place],
    both: tuple[pl.DataFrame, Place],
    *,
    cohort: str = COHORT,
) -> PairedMoments:
    """Take the moments of pairs from the sums of x, of y and of both added up, each with its places.

    The products follow from the squares, as (x + y)² = x² + 2xy + y². The arguments are as in
    `moments_of`.
    """
    shape = np.shape(n)
    totals = [whole_numbers(cells[f"{cohort}total"], place, shape) for cells, place in (x, y)]
    squares = [whole_numbers(cells[f"{cohort}squared"], place, shape) for cells, place in (x, y, both)]
    xx, yy, of_both = squares
    products = (of_both - xx - yy) // 2
    return PairedMoments.of_sums(n, x=totals[0], y=totals[1], xx=xx, yy=yy, xy=products)
