"""Moments from a table of sums: of sums and sums of squares, or of means and variances."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import polars as pl

from engine.errors import InvalidEvidenceError
from engine.frames.sums.sum_columns import numbers
from engine.stats.arrays import AnyArray, FloatArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

# A sum of squares in doubles may fall short of the smallest that is possible by this share of it.
_ROUNDING: Final = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True)
class SummedValue:
    """A value of visitors in a table of sums, by rows.

    `units` are minor units of money in one of the table's; None for a value that is no money, which keeps its
    unit. The columns are `<name>_sum`, `<name>_squares` and perhaps `<name>_cubes`, or `<name>_mean` and
    `<name>_variance` (of the sample, by n - 1).
    """

    table: pl.DataFrame
    name: str
    n: Sequence[int]
    units: int | None = None

    @property
    def has_sums(self) -> bool:
        """Tell whether sums are given, and not means."""
        columns = self.table.columns
        return f"{self.name}_squares" in columns or f"{self.name}_mean" not in columns

    def moments(self) -> Moments:
        """Take the moments of each row: of sums exactly, as the doubles that they are."""
        if not self.has_sums:
            count, mean, m2 = self._from_means()
            return Moments(count, mean, m2).without_rounding(mean)
        cubes = self.exact("cubes", 3) if f"{self.name}_cubes" in self.table.columns else None
        return Moments.of_sums(self.n, self.exact("sum", 1), self.squares(), cubes)

    def squares(self) -> AnyArray:
        """Return the sums of squares, those of equal values at least; InvalidEvidenceError for less."""
        squares = self.exact("squares", 2)
        least = [total * total / max(n, 1) for total, n in zip(self.exact("sum", 1), self.n, strict=True)]
        if any(given < possible * (1 - _ROUNDING) for given, possible in zip(squares, least, strict=True)):
            raise InvalidEvidenceError(
                f"'{self.name}_squares' is less than the square of '{self.name}_sum' over the visitors; give "
                "the sum of the visitors' squares"
            )
        return np.array([max(pair) for pair in zip(squares, least, strict=True)], object)

    def exact(self, part: str, power: int) -> AnyArray:
        """Read sums as fractions; those of money in whole minor units."""
        given = [Fraction(value) for value in numbers(self.table, f"{self.name}_{part}", power)]
        if self.units is not None:
            given = [Fraction(round(value * self.units**power)) for value in given]
        return np.array(given, object)

    def _from_means(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        mean, variance = (
            np.array(numbers(self.table, f"{self.name}_{part}", power))
            for power, part in enumerate(("mean", "variance"), 1)
        )
        if (variance < 0).any():
            raise InvalidEvidenceError(f"'{self.name}_variance' holds negative numbers")
        count, scale = np.array(self.n, np.float64), float(self.units or 1)
        is_seen = count > 0
        return count, mean * is_seen * scale, variance * np.maximum(count - 1.0, 0.0) * scale**2


def pairs_of(x: SummedValue, y: SummedValue) -> PairedMoments:
    """Take the moments of two values in each row, with their products in `<y>_<x>_products`.

    Or with their covariances in `<y>_<x>_covariance`, where means and variances are given. Third moments are
    known where `<y>_cubes`, `<x>_cubes`, `<y>_<y>_<x>_products` and `<y>_<x>_<x>_products` are given.
    """
    of_x, of_y = x.moments(), y.moments()
    together = f"{y.name}_{x.name}"
    if x.has_sums and y.has_sums:
        scale = (x.units or 1) * (y.units or 1)

        def products(name: str, power: int, unit: int) -> AnyArray:
            given = numbers(y.table, f"{name}_products", power)
            return np.array([Fraction(value) * unit for value in given], object)

        thirds = f"{y.name}_{together}", f"{together}_{x.name}"
        needed = {f"{y.name}_cubes", f"{x.name}_cubes", *(f"{name}_products" for name in thirds)}
        cubes = others = None
        if needed <= set(y.table.columns):
            cubes = y.exact("cubes", 3)
            yyx, yxx = (
                products(name, 3, scale * unit)
                for name, unit in zip(thirds, (y.units or 1, x.units or 1), strict=True)
            )
            others = x.exact("cubes", 3), yxx, yyx
        return PairedMoments.of_sums(
            y.n,
            x=x.exact("sum", 1),
            y=y.exact("sum", 1),
            xx=x.squares(),
            yy=y.squares(),
            xy=products(together, 2, scale),
            yyy=cubes,
            others=others,
        )
    covariance = np.array(numbers(y.table, f"{together}_covariance", 2)) * float(
        (x.units or 1) * (y.units or 1)
    )
    co = covariance * np.maximum(of_y.n - 1.0, 0.0)
    pairs = PairedMoments(of_y.n, of_x.mean, of_y.mean, of_x.m2, of_y.m2, co, of_y.m3)
    return pairs.without_rounding(of_x.mean, of_y.mean)
