"""Several covariates of goals in a lazy table: its engine computes the sums that give their index."""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add

import narwhals as nw
import polars as pl

from engine.frames.covariates import MOST_CATEGORIES, common_categories
from engine.frames.frame_goal import FrameGoal
from engine.frames.lazy.engine_queries import Table, computed_once, fetch, flag
from engine.frames.lazy.lazy_moments import cross_moments_by_arm
from engine.stats.covariates import CovariateMoments, Slopes, index_slopes
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments


def with_indexes(visitors: Table, kinds: Sequence[FrameGoal], arms: int) -> tuple[Table, dict[int, int]]:
    """Add the index `before_<i>` of goals with several covariates, as `index_by_visitor` computes it.

    Returns the number of slopes of each such goal besides. `visitors` have `value_<i>`.
    """
    names, ranks = visitors.collect_schema().names(), {}
    for goal in range(len(kinds)):
        several = [name for name in names if name.startswith(f"before_{goal}_")]
        if not several:
            continue
        known = visitors.filter(~nw.col(f"value_{goal}").is_null())
        design = list(_design(known, several))
        index = nw.col(f"value_{goal}") * 0.0
        if design:
            theta, ranks[goal] = _slopes(known, design, goal, has_orders=f"orders_{goal}" in names, arms=arms)
            index = reduce(add, (x * slope for x, slope in zip(design, theta.tolist(), strict=True)))
        visitors = computed_once(visitors.with_columns(index.alias(f"before_{goal}")))
    return visitors, ranks


def _slopes(known: Table, design: Sequence[nw.Expr], goal: int, *, has_orders: bool, arms: int) -> Slopes:
    parts = [f"value_{goal}", *([f"orders_{goal}"] if has_orders else [])]
    n, mean, products = cross_moments_by_arm(known, [*design, *map(nw.col, parts)], arms)
    k = len(design)

    def of(place: int) -> CovariateMoments:
        outcome = Moments(n, mean[:, place], products[:, place, place])
        return CovariateMoments.of_sums(n, mean[:, :k], products[:, :k, :k], products[:, :k, place], outcome)

    if not has_orders:
        return index_slopes(of(k))
    ratio = PairedMoments(
        n,
        mean[:, k + 1],
        mean[:, k],
        products[:, k + 1, k + 1],
        products[:, k, k],
        products[:, k, k + 1],
    )
    return index_slopes(of(k), of(k + 1), ratio)


def _design(known: Table, names: Sequence[str]) -> Iterator[nw.Expr]:
    """Yield the columns of `design_matrix`, of the visitors whose outcome is known."""
    schema = known.collect_schema()
    numbers = [name for name in names if schema[name] != nw.String]
    facts = iter(
        fetch(
            known.select(
                expression
                for name in numbers
                for expression in (
                    nw.col(name).mean(),
                    flag(nw.col(name).is_null()).sum().alias(f"unknown {name}"),
                )
            )
        ).row(0)
        if numbers
        else ()
    )
    for name in names:
        column = nw.col(name)
        if name not in numbers:
            yield from _categories(known, name)
            continue
        mean, unknown = next(facts), next(facts)
        if mean is not None:
            yield column.fill_null(mean)
        if mean is not None and unknown:
            yield flag(column.is_null()).cast(nw.Float64)


def _categories(known: Table, name: str) -> Iterator[nw.Expr]:
    column = nw.col(name)
    counted = fetch(
        known.group_by(name)
        .agg(nw.len().alias("count"))
        .sort("count", name, descending=[True, False])
        .head(MOST_CATEGORIES + 1)
    ).rename({name: "value"})
    common = common_categories(counted.cast({"value": pl.String}))
    flags = [flag(_is(column, category)).cast(nw.Float64) for category in common.to_list()]
    yield from flags[1:]
    if counted.height > MOST_CATEGORIES:
        yield reduce(add, (one * -1.0 for one in flags)) + 1.0


def _is(column: nw.Expr, category: str | None) -> nw.Expr:
    return column.is_null() if category is None else column == category
