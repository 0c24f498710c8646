"""Columns of goals, read and validated: flags, amounts, counts, values and times of steps."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from engine.currencies import minor_units
from engine.frames import column_errors
from engine.frames.column_errors import MOST_NUMBER, MOST_TOGETHER, MOST_WHOLE
from engine.frames.frame_goal import FrameGoal
from engine.frames.kinds import Count, Funnel, Mean, Quantile, Ratio, Retained, Revenue, Value


def goal_columns(
    frame: pl.DataFrame, place: int, name: str, kind: FrameGoal, *, currency: str
) -> Iterator[pl.Expr]:
    """Yield the columns of the goal at a place: `goal_<i>`, and what its kind needs besides.

    Whole numbers for conversions (1 or 0), minor units and counts; null in a retained goal that is not known
    yet. A ratio has its denominator in `orders_<i>`, and a funnel the columns `step_<i>_<k>` instead.
    """
    if isinstance(kind, Funnel):
        for step, column in enumerate(kind.steps):
            yield _step(frame, column).alias(f"step_{place}_{step}")
    elif isinstance(kind, Ratio):
        yield number(frame, kind.numerator).fill_null(0.0).alias(f"goal_{place}")
        yield number(frame, kind.denominator).fill_null(0.0).alias(f"orders_{place}")
    elif isinstance(kind, Quantile):
        values = _lists(frame, kind.column) if kind.of == "event" else number(frame, kind.column)
        yield values.alias(f"goal_{place}")
    else:
        yield _of_one_column(frame, name, kind, currency).alias(f"goal_{place}")


def _of_one_column(frame: pl.DataFrame, name: str, kind: FrameGoal, currency: str) -> pl.Expr:
    if isinstance(kind, Revenue):
        return _cents(frame, name, currency)
    if isinstance(kind, Count):
        return _count(frame, name)
    if isinstance(kind, Value | Mean):
        values = number(frame, name)
        return values if kind.may_be_unknown else values.fill_null(0.0)
    return flag(frame, name, unknown=None if isinstance(kind, Retained) else 0)


def number(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Values as numbers; NaN is null."""
    if not (frame.schema[name].is_numeric() or frame.schema[name] == pl.Boolean):
        raise column_errors.not_numbers(name, frame.schema[name])
    numbers = frame[name].cast(pl.Float64).fill_nan(None)
    if not numbers.is_finite().all():
        raise column_errors.infinite_numbers(name)
    if (numbers.abs() > MOST_NUMBER).any():
        raise column_errors.numbers_too_large(name)
    return pl.lit(numbers)


def _lists(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Values of each row as a list of numbers, without nulls; a number is a list of one."""
    column = frame[name]
    rows = pl.DataFrame({"row": pl.int_range(len(column), eager=True), name: column})
    each = rows.explode(name) if isinstance(column.dtype, pl.List) else rows
    known = each.select("row", number(each, name).alias(name)).drop_nulls()
    lists = known.group_by("row").agg(name)
    return pl.lit(rows.select("row").join(lists, on="row", how="left", maintain_order="left")[name])


def flag(frame: pl.DataFrame, name: str, *, unknown: int | None = 0) -> pl.Expr:
    """Conversions as 1 or 0; null is `unknown`."""
    values = frame[name]
    if values.dtype == pl.Boolean:
        whole = values.cast(pl.Int64)
        return pl.lit(whole if unknown is None else whole.fill_null(unknown))
    if not values.dtype.is_numeric():
        raise column_errors.not_conversions(name, values.dtype)
    numbers = values.fill_nan(None) if values.dtype.is_float() else values
    if unknown is not None and numbers.null_count():
        numbers = numbers.fill_null(unknown)
    if not ((numbers == 0) | (numbers == 1)).all():
        raise column_errors.other_than_conversions(name)
    return pl.lit(numbers.cast(pl.Int64))


def _count(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Whole numbers from 0 on; null is 0."""
    dtype = frame.schema[name]
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        raise column_errors.not_counts(name, dtype)
    counts = frame[name].cast(pl.Float64).fill_nan(None).fill_null(0.0).to_numpy()
    if not ((counts >= 0) & (counts == np.rint(counts)) & (counts < MOST_WHOLE)).all():
        raise column_errors.other_than_counts(name)
    if counts.sum() >= MOST_TOGETHER:
        raise column_errors.counts_too_large(name)
    return pl.lit(pl.Series(counts.astype(np.int64)))


def _cents(frame: pl.DataFrame, name: str, currency: str) -> pl.Expr:
    """Amounts in major units as whole minor units; null is 0."""
    if not frame.schema[name].is_numeric():
        raise column_errors.not_amounts(name, frame.schema[name])
    # NaN stands for a missing number.
    cents = np.rint(frame[name].cast(pl.Float64).to_numpy() * minor_units(currency))
    if np.isnan(cents).any():
        cents = np.nan_to_num(cents, nan=0.0, posinf=np.inf, neginf=-np.inf)
    if max(-cents.min(), cents.max()) >= MOST_WHOLE:
        raise column_errors.amounts_too_large(name)
    if np.abs(cents).sum() >= MOST_TOGETHER:
        raise column_errors.total_too_large(name)
    return pl.lit(pl.Series(cents.astype(np.int64)))


def _step(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Times of a step in microseconds, or flags as 1 and null."""
    dtype = frame.schema[name]
    if dtype == pl.Boolean or dtype.is_numeric():
        return flag(frame, name).replace(0, None)
    return microseconds(frame, name, "a step is true or false, 1 or 0, or the time that it was done at")


def microseconds(frame: pl.DataFrame, name: str, hint: str = "make it a datetime column") -> pl.Expr:
    """Times as microseconds since the epoch, in UTC unless they have a zone of their own."""
    column, dtype = pl.col(name), frame.schema[name]
    if dtype == pl.String:
        column = column.str.strip_chars().str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    elif dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    elif not isinstance(dtype, pl.Datetime):
        raise column_errors.not_times(name, dtype, hint)
    return column.dt.epoch("us")
