"""Moments from sums of whole numbers, arranged in arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
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
    total, squares = (
        whole_numbers(cells[f"{cohort}{power}"], place, shape) for power in ("total", "squared")
    )
    return Moments.of_sums(n, total, squares, _cubes(cells, place, shape, cohort))


def paired_moments(  # noqa: PLR0913  # sums of both and of their combinations
    n: npt.ArrayLike,
    x: tuple[pl.DataFrame, Place],
    y: tuple[pl.DataFrame, Place],
    plus: tuple[pl.DataFrame, Place],
    minus: tuple[pl.DataFrame, Place],
    *,
    cohort: str = COHORT,
) -> PairedMoments:
    """Take the moments of pairs from the sums of x, y, y + x and y - x, each with its places.

    The products follow from the powers: (y + x)² = y² + 2yx + x², (y + x)³ + (y - x)³ = 2y³ + 6yx² and
    (y + x)³ - (y - x)³ = 6y²x + 2x³. The arguments are as in `moments_of`.
    """
    shape = np.shape(n)
    totals = [whole_numbers(cells[f"{cohort}total"], place, shape) for cells, place in (x, y)]
    squares = [whole_numbers(cells[f"{cohort}squared"], place, shape) for cells, place in (x, y, plus)]
    xx, yy, of_plus = squares
    xxx, yyy, cubed_plus, cubed_minus = (_cubes(*one, shape, cohort) for one in (x, y, plus, minus))
    return PairedMoments.of_sums(
        n,
        x=totals[0],
        y=totals[1],
        xx=xx,
        yy=yy,
        xy=(of_plus - xx - yy) // 2,
        yyy=yyy,
        others=(xxx, (cubed_plus + cubed_minus - 2 * yyy) // 6, (cubed_plus - cubed_minus - 2 * xxx) // 6),
    )


def _cubes(cells: pl.DataFrame, place: Place, shape: tuple[int, ...], cohort: str) -> ObjectArray:
    high, low = (
        whole_numbers(cells[f"{cohort}{power}"], place, shape) for power in ("cubed_high", "cubed_low")
    )
    return np.asarray(high * CUBE_BASE + low)
