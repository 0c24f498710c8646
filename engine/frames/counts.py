"""Evidence from rows of a DataFrame: every visitor counted once, in one variant."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt
import polars as pl

from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.evidence.evidence import DailyEvidence, Evidence
from engine.frames.rows import NO_VALUE_COLUMNS, GoalKind, ValueColumns
from engine.frames.values import values_of
from engine.local_days import from_epoch_days, from_epoch_microseconds, local_days
from engine.stats.arrays import IntArray
from engine.stats.moments import Moments


def count(  # noqa: PLR0913  # keyword arguments of a notebook function
    rows: pl.DataFrame,
    *,
    variants: Sequence[str],
    goals: Mapping[str, GoalKind],
    timezone: str,
    extra: ValueColumns = NO_VALUE_COLUMNS,
    is_distinct: bool = False,
) -> Evidence:
    """Count the rows of `read_rows` by variant and goal; `extra` are covariates, orders and caps.

    A visitor converts if any row says so, on the day of the first one that does; revenue adds up.
    Visitors seen in several variants are excluded. Without times there are no days. `is_distinct` where
    each row is a visitor.
    """
    as_of = moment(rows["at"].max())
    kinds = list(goals.values())
    if is_distinct and rows["at"].null_count() == rows.height:
        arms = [_as_visitors(rows, arm, kinds) for arm in variants]
        daily, several, follow_up = DailyEvidence.none(len(kinds), len(variants)), 0, None
    else:
        coded = with_codes(rows, variants, timezone)
        everyone = by_visitor(coded, len(kinds))
        each = of_one_variant(everyone)
        counted = coded.join(each.select("visitor"), on="visitor", how="semi")
        rows = counted
        arms = [each.filter(pl.col("variant") == code) for code in range(len(variants))]
        daily, several = _daily(counted, each, kinds, len(variants)), everyone.height - each.height
        follow_up = _follow_up(each, coded["day"].max(), len(variants))
    visitors = np.array([arm.height for arm in arms], np.int64)
    conversions = np.array([[arm[f"done_{goal}"].sum() for arm in arms] for goal in range(len(kinds))])
    revenue = Moments.concatenate([_revenue(arms, goal, kind) for goal, kind in enumerate(kinds)])
    return Evidence(
        visitors=visitors,
        conversions=conversions,
        revenue=revenue,
        daily=daily,
        several_variants=several,
        as_of=as_of,
        last_exposure_at=moment(rows["at"].max()),
        follow_up=follow_up,
        largest_cents=_largest_cents(arms, kinds),
        values=values_of(
            arms, goals, extra, _plain(kinds, revenue, Moments.of_shares(conversions, visitors))
        ),
    )


def _plain(kinds: Sequence[GoalKind], revenue: Moments, shares: Moments) -> Moments:
    """Moments of each goal's plain metric, goals by variants."""
    return Moments.concatenate(
        [(revenue if kind == "revenue" else shares)[place : place + 1] for place, kind in enumerate(kinds)]
    )


def _as_visitors(rows: pl.DataFrame, arm: str, kinds: Sequence[GoalKind]) -> pl.DataFrame:
    """Select the rows of a variant, one per visitor, in the form of `by_visitor`."""
    kept = (name for name in rows.columns if name.startswith(("before_", "orders_")))
    return (
        rows.lazy()
        .filter(pl.col("variant") == arm)
        .select(
            *((pl.col(f"goal_{goal}") > 0).alias(f"done_{goal}") for goal in range(len(kinds))),
            *(
                pl.col(f"goal_{goal}").alias(f"sum_{goal}")
                for goal, kind in enumerate(kinds)
                if kind == "revenue"
            ),
            *kept,
        )
        .collect()
    )


def with_codes(rows: pl.DataFrame, variants: Sequence[str], timezone: str = "UTC") -> pl.DataFrame:
    """Add the number of the variant and the local day to each row."""
    codes = {name: code for code, name in enumerate(variants)}
    return rows.with_columns(
        pl.col("variant").replace_strict(codes, return_dtype=pl.Int64), _days(rows["at"], timezone)
    )


def of_one_variant(everyone: pl.DataFrame) -> pl.DataFrame:
    """Keep the visitors of `by_visitor` who were seen in one variant only."""
    return everyone.filter(pl.col("variant") == pl.col("last_variant"))


def moment(at: object) -> datetime | None:
    """Convert microseconds since 1970 to a moment in UTC; None stays None."""
    return from_epoch_microseconds(at) if isinstance(at, int) else None


def _days(at: pl.Series, timezone: str) -> pl.Series:
    """Compute the local day of each row; null without times."""
    if at.null_count():
        return pl.Series("day", [None] * len(at), pl.Int32)
    return pl.Series("day", local_days(at.to_numpy(), timezone))


def by_visitor(coded: pl.DataFrame, goals: int) -> pl.DataFrame:
    """Group rows by visitor: lowest and highest variant, first day, conversions and amounts."""
    of_goals = [
        expression
        for goal in range(goals)
        for expression in (
            (pl.col(f"goal_{goal}") > 0).any().alias(f"done_{goal}"),
            pl.col(f"goal_{goal}").sum().alias(f"sum_{goal}"),
            pl.col("day").filter(pl.col(f"goal_{goal}") > 0).min().alias(f"day_{goal}"),
        )
    ]
    of_goals += [
        pl.col(name).max()
        if name.startswith("before_")
        else pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name)
        for name in coded.columns
        if name.startswith(("before_", "orders_"))
    ]
    return coded.group_by("visitor").agg(
        pl.col("variant").min(),
        pl.col("variant").max().alias("last_variant"),
        pl.col("day").min(),
        *of_goals,
    )


def _revenue(arms: Sequence[pl.DataFrame], goal: int, kind: GoalKind) -> Moments:
    """Moments of cents per visitor, a column per variant; zeros for a goal without revenue."""
    if kind == "revenue":
        return Moments.stack([Moments.of(arm[f"sum_{goal}"].to_numpy()) for arm in arms])[None]
    n = np.array([[float(arm.height) for arm in arms]])
    return Moments(n, np.zeros(n.shape), np.zeros(n.shape))


def _largest_cents(arms: Sequence[pl.DataFrame], kinds: Sequence[GoalKind]) -> IntArray:
    """Find the largest cents of one visitor, goals by variants; 0 for a goal without revenue."""
    return np.array(
        [
            [(arm[f"sum_{goal}"].max() or 0) if kind == "revenue" else 0 for arm in arms]
            for goal, kind in enumerate(kinds)
        ],
        np.int64,
    )


def _daily(
    counted: pl.DataFrame, visitors: pl.DataFrame, kinds: Sequence[GoalKind], variants: int
) -> DailyEvidence:
    """Count visitors and conversions by their first day, and cents by the day of the row."""
    first, last = counted["day"].min(), counted["day"].max()
    days = range(first, last + 1) if isinstance(first, int) and isinstance(last, int) else range(0)
    shape = (len(days), len(kinds), variants)
    conversions, cents = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for goal, kind in enumerate(kinds):
        done = visitors.filter(pl.col(f"day_{goal}").is_not_null())
        conversions[:, goal] = _spread(done[f"day_{goal}"], done["variant"], days, variants)
        if kind == "revenue":
            cents[:, goal] = _spread(
                counted["day"], counted["variant"], days, variants, counted[f"goal_{goal}"]
            )
    return DailyEvidence(
        days=tuple(from_epoch_days(day) for day in days),
        visitors=_spread(visitors["day"], visitors["variant"], days, variants),
        conversions=conversions,
        revenue_cents=cents,
    )


def _follow_up(visitors: pl.DataFrame, today: object, variants: int) -> FollowUp | None:
    """Count the first goal's conversions by days since the visitor's first row.

    The last day of the frame may be incomplete, and is left out. None without times.
    """
    if not isinstance(today, int):
        return None
    since = pl.col("day_0") - pl.col("day")
    came = visitors.select("day", "variant", pl.lit(1, pl.Int64).alias("visitors"))
    done = visitors.filter(pl.col("day_0").is_not_null()).select("day", since, "variant", pl.lit(1, pl.Int64))
    columns = ([column.to_numpy() for column in frame.get_columns()] for frame in (came, done))
    return FollowUp.of_counts(*columns, variants=variants, today=today)


def _spread(
    days: pl.Series, arms: pl.Series, span: range, variants: int, amounts: pl.Series | None = None
) -> IntArray:
    """Sum counts or amounts by day of the span and variant."""
    spread = np.zeros((len(span), variants), np.int64)
    if len(span):
        amount: npt.ArrayLike = 1 if amounts is None else amounts.to_numpy()
        np.add.at(spread, (days.to_numpy() - span.start, arms.to_numpy()), amount)
    return spread
