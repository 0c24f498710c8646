"""Visitors of a DataFrame: the rows of each brought together."""

from collections.abc import Sequence

import polars as pl

from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Mean, Quantile, Ratio, Retained, Value
from engine.local_days import local_days

# Columns that are kept besides the goals' own: theirs, and the number of the cluster.
_EXTRA = ("before_", "orders_", "reached_", "known_", "cluster")


def with_codes(rows: pl.DataFrame, variants: Sequence[str], timezone: str = "UTC") -> pl.DataFrame:
    """Add the number of the variant and the local day to each row."""
    # Each variant is compared, which is faster than to look them up.
    code = pl.coalesce(
        pl.when(pl.col("variant") == name).then(pl.lit(code, pl.Int32)) for code, name in enumerate(variants)
    )
    return rows.with_columns(code.alias("variant"), _days(rows["at"], timezone))


def _days(at: pl.Series, timezone: str) -> pl.Series:
    """Compute the local day of each row; null without times."""
    if at.null_count():
        return pl.repeat(None, len(at), dtype=pl.Int32, eager=True).alias("day")
    return pl.Series("day", local_days(at.to_numpy(), timezone))


def by_visitor(coded: pl.DataFrame, kinds: Sequence[FrameGoal]) -> pl.DataFrame:
    """Group rows by visitor: lowest and highest variant, first day, conversions and values.

    `done_<i>` tells a conversion, which is any value other than 0, `sum_<i>` is the visitor's value (null
    where it is not known) of goals that have one, and `day_<i>` the first day of a conversion, with times.
    """
    done = [_is_done(goal, kind) for goal, kind in enumerate(kinds)]
    has_days = not coded["day"].null_count()
    extra = [_together(name, coded.schema[name]) for name in coded.columns if name.startswith(_EXTRA)]
    grouped = coded.lazy().group_by("visitor")
    found = grouped.agg(
        pl.col("variant").min(),
        pl.col("variant").max().alias("last_variant"),
        pl.col("day").min(),
        *(
            pl.when(is_done).then("day").min().alias(f"day_{goal}")
            if has_days
            else is_done.any().alias(f"done_{goal}")
            for goal, is_done in enumerate(done)
        ),
        *(_value(goal, kinds[goal]).alias(f"sum_{goal}") for goal in _with_values(kinds)),
        *extra,
    )
    days = range(len(kinds) if has_days else 0)
    return found.with_columns(
        pl.col(f"day_{goal}").is_not_null().alias(f"done_{goal}") for goal in days
    ).collect()


def as_visitors(coded: pl.DataFrame, kinds: Sequence[FrameGoal]) -> pl.DataFrame:
    """Take each row as a visitor, in the form of `by_visitor`."""
    done = [_is_done(goal, kind) for goal, kind in enumerate(kinds)]
    has_days = not coded["day"].null_count()
    return coded.select(
        "variant",
        "day",
        *(is_done.alias(f"done_{goal}") for goal, is_done in enumerate(done)),
        *(pl.col(f"goal_{goal}").alias(f"sum_{goal}") for goal in _with_values(kinds)),
        *(pl.when(is_done).then("day").alias(f"day_{goal}") for goal, is_done in enumerate(done) if has_days),
        *(name for name in coded.columns if name.startswith(_EXTRA)),
    )


def _with_values(kinds: Sequence[FrameGoal]) -> list[int]:
    """List the goals with values of visitors; of others their conversions tell all."""
    return [goal for goal, kind in enumerate(kinds) if kind.may_be_unknown or not kind.is_share]


def of_one_variant(everyone: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Part the visitors of `by_visitor` into those who were seen in one variant only, and the others."""
    is_of_one = pl.col("variant") == pl.col("last_variant")
    return everyone.filter(is_of_one), everyone.filter(~is_of_one)


def with_known_outcomes(arm: pl.DataFrame, kinds: Sequence[FrameGoal]) -> pl.DataFrame:
    """Leave out what visitors did for goals of which their outcome is not known."""
    of_goals = []
    for goal, kind in enumerate(kinds):
        if kind.known is not None:
            is_known = pl.col(f"known_{goal}") == 1
            of_goals.append(pl.col(f"done_{goal}") & is_known)
            values = [name for name in (f"sum_{goal}", f"orders_{goal}") if name in arm.columns]
            of_goals += [pl.when(is_known).then(name).alias(name) for name in values]
    return arm.with_columns(of_goals)


def _is_done(goal: int, kind: FrameGoal) -> pl.Expr:
    """Tell whether a row counts as a conversion: a ratio by its denominator, values by any number but 0."""
    if isinstance(kind, Ratio):
        return pl.col(f"orders_{goal}") != 0
    if isinstance(kind, Quantile) and kind.of == "event":
        return pl.col(f"goal_{goal}").list.eval(pl.element() != 0).list.any().fill_null(value=False)
    if isinstance(kind, Value | Mean | Quantile):
        return (pl.col(f"goal_{goal}") != 0).fill_null(value=False)
    is_positive = pl.col(f"goal_{goal}") > 0
    return is_positive.fill_null(value=False) if isinstance(kind, Retained) else is_positive


def _value(goal: int, kind: FrameGoal) -> pl.Expr:
    """Bring the values of a visitor's rows together."""
    column = pl.col(f"goal_{goal}")
    if isinstance(kind, Mean):
        return column.mean()
    if isinstance(kind, Quantile):
        if kind.of == "event":
            return pl.when(column.count() > 0).then(column.explode().drop_nulls().implode())
        return pl.when(column.count() > 0).then(column.sum())
    return column.max() if isinstance(kind, Retained) else column.sum()


def _together(name: str, dtype: pl.DataType) -> pl.Expr:
    """Bring an additional column of a visitor's rows together; text is that of the first row."""
    column = pl.col(name)
    if dtype == pl.String:
        return column.sort_by("at", maintain_order=True).first()
    if name.startswith("orders_"):
        return pl.when(column.count() > 0).then(column.sum()).alias(name)
    return column.max()
