"""Visitors of a lazy table: the rows of each brought together by its engine."""

from collections.abc import Iterator, Sequence

import narwhals as nw

from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Mean, Quantile, Ratio, Retained, Value
from engine.frames.lazy.engine_queries import Table, by_case, computed_once, flag
from engine.frames.lazy.lazy_rows import LazyRows


def with_arms(rows: LazyRows, variants: Sequence[str], timezone: str) -> Table:
    """Add the number of the variant `arm` to each row and, where there are times, its local `day`."""
    arm = by_case(nw.col("variant"), [rows.variants[name] for name in variants], range(len(variants)))
    day = rows.day(timezone)
    return rows.table.with_columns(arm.alias("arm"), *([] if day is None else [day.alias("day")]))


def by_visitor(table: Table, kinds: Sequence[FrameGoal], *, is_distinct: bool) -> Table:
    """Make one row per visitor of the rows of `with_arms`, in the form of `by_visitor` of a DataFrame.

    `arm` and `last_arm` are the lowest and the highest, and `done_<i>` is 1 or 0.
    """
    has_days = "day" in table.collect_schema().names()
    if is_distinct:
        return computed_once(
            table.with_columns(nw.col("arm").alias("last_arm"), *_of_rows(kinds, has_days=has_days))
        )
    visitors = table.group_by("visitor").agg(
        nw.col("arm").min(),
        nw.col("arm").max().alias("last_arm"),
        *([nw.col("day").min()] if has_days else []),
        *_of_groups(table, kinds, has_days=has_days),
    )
    names = list(_names_of_first(table))
    return visitors.join(_of_first(table, names), on="visitor", how="left") if names else visitors


def of_one_variant(visitors: Table) -> Table:
    """Keep the visitors who were seen in one variant only."""
    return visitors.filter(nw.col("arm") == nw.col("last_arm"))


def with_known_outcomes(visitors: Table, kinds: Sequence[FrameGoal]) -> Table:
    """Leave out what visitors did for goals of which their outcome is not known."""
    names, columns = visitors.collect_schema().names(), []
    for goal, kind in enumerate(kinds):
        if kind.known is not None:
            is_known, done = nw.col(f"known_{goal}") == 1.0, nw.col(f"done_{goal}")
            columns.append(nw.when(is_known).then(done).otherwise(done * 0).alias(f"done_{goal}"))
            values = [name for name in (f"sum_{goal}", f"orders_{goal}") if name in names]
            columns += [nw.when(is_known).then(nw.col(name)).alias(name) for name in values]
    return computed_once(visitors.with_columns(*columns)) if columns else visitors


def _names_of_first(table: Table) -> Iterator[str]:
    """Yield the columns whose value of a visitor is that of the first row."""
    for name, kind in table.collect_schema().items():
        if name.startswith("segment_") or (name.startswith("before_") and kind == nw.String):
            yield name


def _of_first(table: Table, names: Sequence[str]) -> Table:
    """Take columns of the earliest row of each visitor; of rows of one time the least, as no row is first."""
    firsts = table.with_columns(nw.col("at").min().over("visitor").alias("first_at"))
    is_first = nw.col("at") == nw.col("first_at")
    return firsts.filter(is_first).group_by("visitor").agg(*(nw.col(name).min() for name in names))


def _of_rows(kinds: Sequence[FrameGoal], *, has_days: bool) -> Iterator[nw.Expr]:
    for goal, kind in enumerate(kinds):
        done = _is_done(goal, kind)
        yield flag(done).alias(f"done_{goal}")
        yield nw.col(f"goal_{goal}").alias(f"sum_{goal}")
        if has_days:
            yield nw.when(done).then(nw.col("day")).alias(f"day_{goal}")


def _of_groups(table: Table, kinds: Sequence[FrameGoal], *, has_days: bool) -> Iterator[nw.Expr]:
    for goal, kind in enumerate(kinds):
        done = _is_done(goal, kind)
        yield flag(done).max().alias(f"done_{goal}")
        yield _value(goal, kind).alias(f"sum_{goal}")
        if has_days:
            yield nw.when(done).then(nw.col("day")).min().alias(f"day_{goal}")
    of_first = set(_names_of_first(table))
    for name in table.collect_schema().names():
        column = nw.col(name)
        if name.startswith(("before_", "reached_", "known_")) and name not in of_first:
            yield column.max()
        elif name.startswith("orders_"):
            yield nw.when(column.count() > 0).then(column.sum()).alias(name)


def _is_done(goal: int, kind: FrameGoal) -> nw.Expr:
    """Tell whether a row counts as a conversion: a ratio by its denominator, values by any number but 0."""
    if isinstance(kind, Ratio):
        return nw.col(f"orders_{goal}") != 0.0
    column = nw.col(f"goal_{goal}")
    return column != 0.0 if isinstance(kind, Value | Mean | Quantile) else column > 0.0


def _value(goal: int, kind: FrameGoal) -> nw.Expr:
    """Bring the values of a visitor's rows together."""
    column = nw.col(f"goal_{goal}")
    if isinstance(kind, Mean):
        return column.mean()
    if isinstance(kind, Quantile):
        return nw.when(column.count() > 0).then(column.sum())
    return column.max() if isinstance(kind, Retained) else column.sum()
