"""Moments by variant that a lazy table's engine computes, in two passes."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, Self

import narwhals as nw
import numpy as np
import polars as pl

from engine.frames.lazy.engine_queries import Table, by_case, fetch, flag
from engine.stats.arrays import FloatArray
from engine.stats.paired_moments import PairedMoments

# Sums of deviations of x and y, and of products of two and three of them.
_SUMS: Final = ("x", "y", "xx", "yy", "xy", "yyy", "xxx", "xxy", "xyy")
# The number of visitors with both values, and the least of each.
_COUNTS: Final = ("n", "low_x", "low_y")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values of a visitor; visitors of whom one is null are left out. Without `x` it is 0."""

    y: nw.Expr
    x: nw.Expr | None = None

    def known(self) -> tuple[nw.Expr, nw.Expr]:
        """Return both values, null where either is."""
        if self.x is None:
            # Of the type of the values: a literal would be a decimal of some engines.
            return self.y * 0.0, self.y
        are_known = ~(self.x.is_null() | self.y.is_null())
        return nw.when(are_known).then(self.x), nw.when(are_known).then(self.y)


@dataclass(frozen=True, slots=True)
class Triple:
    """Three values that every visitor has, with their means by variant."""

    values: tuple[nw.Expr, nw.Expr, nw.Expr]
    means: tuple[FloatArray, FloatArray, FloatArray]


def moments_by_arm(visitors: Table, pairs: Sequence[Pair], arms: int) -> list[PairedMoments]:
    """Take the moments of each pair by variant, in two queries: means first, then centred sums.

    One query of raw sums of squares would lose all digits at large means. `visitors` have their variant in
    `arm`. The moments of each pair are of the shape (arms,).
    """
    if not pairs:
        return []
    found = Deviations.of(visitors, pairs, arms)
    every = pl.DataFrame({"arm": range(arms)}).join(fetch(found.sums()), on="arm", how="left")
    return found.moments(every.sort("arm"))


@dataclass(frozen=True, slots=True)
class Deviations:
    """Deviations of pairs of values from their means over the visitors of a variant.

    `table` has a row per visitor, with `arm`, `x_<i>` and `y_<i>` of pair i, and the columns that were kept;
    `means` of each pair are of the shape (arms,).
    """

    table: Table
    means: Sequence[tuple[FloatArray, ...]]

    @classmethod
    def of(cls, visitors: Table, pairs: Sequence[Pair], arms: int, *, keeping: Sequence[str] = ()) -> Self:
        """Fetch the means in one query. Columns named in `keeping` stay."""
        numbers = range(len(pairs))
        # Values, and then their deviations, are columns, so that each sum names one instead of repeating it.
        values = visitors.select(
            "arm", *keeping, *(column for i in numbers for column in _values(i, pairs[i]))
        )
        sums = _fetch_by_arm(values, [total for i in numbers for total in _plain(i)], arms)
        means = [
            tuple(sums[f"{axis}_{i}"] / np.maximum(sums[f"n_{i}"], 1.0) for axis in "xy") for i in numbers
        ]
        columns = (column for i in numbers for column in _deviations(i, means[i]))
        return cls(values.select("arm", *keeping, *columns), means)

    def sums(self, *by: str, totals: Iterable[nw.Expr] = ()) -> Table:
        """Ask for the sums by `arm` and the columns `by`, and for other totals of them."""
        own = (total for i in range(len(self.means)) for total in _centred(i))
        return self.table.group_by(*by, "arm").agg(*totals, *own)

    def moments(self, sums: pl.DataFrame) -> list[PairedMoments]:
        """Take the moments of each pair, of as many groups as there are rows of the sums."""
        arms = sums["arm"].cast(pl.Int64).to_numpy()
        return [
            self._moments_of(
                {
                    name: sums[f"{name}_{i}"].cast(pl.Float64).fill_null(0.0).to_numpy()
                    for name in (*_SUMS, *_COUNTS)
                },
                means[0][arms],
                means[1][arms],
            )
            for i, means in enumerate(self.means)
        ]

    @staticmethod
    def _moments_of(sums: Mapping[str, FloatArray], mean_x: FloatArray, mean_y: FloatArray) -> PairedMoments:
        n, low_x, low_y = (sums[name] for name in _COUNTS)
        found = _moments(n, np.where(n > 0, mean_x, 0.0), np.where(n > 0, mean_y, 0.0), sums)
        return found.without_rounding(low_x, low_y)


def _values(i: int, pair: Pair) -> Iterator[nw.Expr]:
    x, y = pair.known()
    yield nw.when(~y.is_null()).then(x).alias(f"x_{i}")
    yield y.alias(f"y_{i}")


def _plain(i: int) -> Iterator[nw.Expr]:
    yield flag(~nw.col(f"y_{i}").is_null()).sum().alias(f"n_{i}")
    for axis in "xy":
        column = nw.col(f"{axis}_{i}")
        yield column.sum().alias(f"{axis}_{i}")


def _deviations(i: int, means: tuple[FloatArray, ...]) -> Iterator[nw.Expr]:
    for axis, mean in zip("xy", means, strict=True):
        name = f"{axis}_{i}"
        yield nw.col(name).alias(f"plain_{name}")
        yield (nw.col(name) - by_case(nw.col("arm"), range(len(mean)), mean.tolist())).alias(name)


def _centred(i: int) -> Iterator[nw.Expr]:
    """Yield the sums of deviations and of their products, by the letters of _SUMS, with those of _COUNTS."""
    yield flag(~nw.col(f"y_{i}").is_null()).sum().alias(f"n_{i}")
    for axis in "xy":
        yield nw.col(f"plain_{axis}_{i}").min().alias(f"low_{axis}_{i}")
    for name in _SUMS:
        product = reduce(operator.mul, (nw.col(f"{axis}_{i}") for axis in name))
        yield product.sum().alias(f"{name}_{i}")


def _moments(
    n: FloatArray, mean_x: FloatArray, mean_y: FloatArray, sums: Mapping[str, FloatArray]
) -> PairedMoments:
    """Move sums about almost the means, which a sum of doubles gives, to those about the means.

    Chan, Golub and LeVeque (1983), "Algorithms for computing the sample variance", corrected two-pass.
    """
    apart_x, apart_y = (sums[axis] / np.maximum(n, 1.0) for axis in ("x", "y"))
    return PairedMoments(
        n,
        mean_x + apart_x,
        mean_y + apart_y,
        np.maximum(sums["xx"] - n * apart_x**2, 0.0),
        np.maximum(sums["yy"] - n * apart_y**2, 0.0),
        sums["xy"] - n * apart_x * apart_y,
        sums["yyy"] - 3.0 * apart_y * sums["yy"] + 2.0 * n * apart_y**3,
        sums["xxx"] - 3.0 * apart_x * sums["xx"] + 2.0 * n * apart_x**3,
        sums["xxy"] - 2.0 * apart_x * sums["xy"] - apart_y * sums["xx"] + 2.0 * n * apart_x**2 * apart_y,
        sums["xyy"] - 2.0 * apart_y * sums["xy"] - apart_x * sums["yy"] + 2.0 * n * apart_x * apart_y**2,
    )


def cross_moments_by_arm(
    visitors: Table, values: Sequence[nw.Expr], arms: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Take the moments of K values that every visitor has, in two queries.

    Returns visitors (arms,), means (arms, K) and centred sums of products (arms, K, K).
    """
    numbers = range(len(values))
    names = [f"x_{i}" for i in numbers]
    table = visitors.select("arm", *(value.alias(name) for value, name in zip(values, names, strict=True)))
    sums = _fetch_by_arm(table, [nw.len().alias("n"), *(nw.col(name).sum() for name in names)], arms)
    n = sums["n"]
    mean = np.stack([sums[name] for name in names], axis=1) / np.maximum(n, 1.0)[:, None]
    apart = table.select(
        "arm",
        *(
            (nw.col(name) - by_case(nw.col("arm"), range(arms), mean[:, i].tolist())).alias(name)
            for i, name in enumerate(names)
        ),
    )
    pairs = [(i, j) for i in numbers for j in range(i, len(values))]
    totals = [nw.col(name).sum() for name in names]
    products = [(nw.col(names[i]) * nw.col(names[j])).sum().alias(f"p_{i}_{j}") for i, j in pairs]
    found = _fetch_by_arm(apart, [*totals, *products], arms)
    # What is left of the means after rounding.
    off = np.stack([found[name] for name in names], axis=1) / np.maximum(n, 1.0)[:, None]
    centred = np.zeros((arms, len(values), len(values)))
    for i, j in pairs:
        centred[:, i, j] = centred[:, j, i] = found[f"p_{i}_{j}"] - n * off[:, i] * off[:, j]
    return n, mean + off, centred


def triples_by_arm(visitors: Table, triples: Sequence[Triple], arms: int) -> list[FloatArray]:
    """Sum the products of the deviations of three values by variant, in one query."""
    if not triples:
        return []
    products = []
    for i, triple in enumerate(triples):
        a, b, c = (
            value - by_case(nw.col("arm"), range(arms), mean.tolist())
            for value, mean in zip(triple.values, triple.means, strict=True)
        )
        products.append((a * b * c).sum().alias(f"triple_{i}"))
    found = _fetch_by_arm(visitors, products, arms)
    return [found[f"triple_{i}"] for i in range(len(triples))]


def _fetch_by_arm(visitors: Table, totals: Sequence[nw.Expr], arms: int) -> dict[str, FloatArray]:
    """Fetch totals by variant, 0 for a variant without visitors."""
    found = fetch(visitors.group_by("arm").agg(*totals))
    every = pl.DataFrame({"arm": range(arms)}).join(found.cast({"arm": pl.Int64}), on="arm", how="left")
    ordered = every.sort("arm").drop("arm")
    return {
        name: column.cast(pl.Float64).fill_null(0.0).to_numpy()
        for name, column in zip(ordered.columns, ordered.get_columns(), strict=True)
    }
