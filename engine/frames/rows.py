"""Columns of a DataFrame of any kind, and the validation of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
import polars as pl

from engine.currencies import minor_units
from engine.errors import InvalidEvidenceError

# Beyond this, doubles skip whole numbers.
_MOST_CENTS = 2.0**53
# Sums of cents are of 64 bits; just below their limit, because this sum itself is of doubles.
_MOST_CENTS_TOGETHER = 2.0**63 * (1.0 - 1e-6)
GoalKind = Literal["custom_event", "revenue"]
_KINDS = get_args(GoalKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueColumns:
    """Additional columns of goals, by the goal's column; `caps` maps it to a percentile.

    `covariates` hold the visitor's value before the first exposure, in any unit, and `orders` the number of
    orders in the row.
    """

    covariates: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    caps: Mapping[str, float] = field(default_factory=dict)

    @property
    def goals(self) -> set[str]:
        """Goals with additional columns or a cap."""
        return {*self.covariates, *self.orders, *self.caps}

    @property
    def named(self) -> list[str]:
        """Every additional column."""
        return [*self.covariates.values(), *self.orders.values()]

    def validate(self, kinds: Mapping[str, GoalKind]) -> None:
        """Raise InvalidEvidenceError for a column that is no goal, or a goal of the wrong kind."""
        for name in sorted(self.goals):
            if name not in kinds:
                raise InvalidEvidenceError(f"{name!r} has a covariate, orders or a cap, but is no goal")
            if kinds[name] != "revenue" and name in {*self.orders, *self.caps}:
                raise InvalidEvidenceError(f"{name!r} is no revenue goal, so it has neither orders nor a cap")


NO_VALUE_COLUMNS = ValueColumns()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Roles of the columns of a DataFrame.

    `goals` maps a column to its kind: `custom_event` (1 or 0, true or false) or `revenue` (an amount
    in major units such as dollars; below 0 for a refund). Without `visitor` each row is a visitor.
    `timestamp` is the time of the row, in UTC unless it has a zone of its own. `segments` are dimensions.
    `currency` is the ISO 4217 code of the amounts.
    """

    variant: str
    goals: Mapping[str, GoalKind]
    visitor: str | None = None
    timestamp: str | None = None
    segments: Sequence[str] = ()
    extra: ValueColumns = NO_VALUE_COLUMNS
    currency: str = "USD"

    @property
    def named(self) -> list[str]:
        """Every column that is used, once."""
        optional = [name for name in (self.visitor, self.timestamp) if name is not None]
        return list(dict.fromkeys([self.variant, *optional, *self.goals, *self.segments, *self.extra.named]))


def kinds_of(goals: Mapping[str, GoalKind] | Sequence[str]) -> Mapping[str, GoalKind]:
    """Map goals to their kinds; a plain list of goals is of conversions.

    Raises InvalidEvidenceError for a kind that does not exist.
    """
    if isinstance(goals, str):
        raise InvalidEvidenceError(f"goals is text; give a list of columns, such as [{goals!r}]")
    kinds: Mapping[str, GoalKind] = (
        goals if isinstance(goals, Mapping) else dict.fromkeys(goals, "custom_event")
    )
    for name, kind in kinds.items():
        if kind not in _KINDS:
            raise InvalidEvidenceError(
                f"the goal {name!r} has the kind {kind!r}; kinds are {' and '.join(_KINDS)}"
            )
    return kinds


def read_rows(df: Any, columns: Columns) -> pl.DataFrame:  # noqa: ANN401  # any frame that narwhals supports
    """Read and validate every row.

    Returns `visitor` (text, or the number of the row), `variant` (text), `at` (microseconds since the
    epoch in UTC; null throughout without timestamps), for each goal a whole number `goal_<i>` (1 or 0, or
    minor units) and `before_<i>` and `orders_<i>` where columns hold them, and the text `segment_<i>` for
    each segment, null where it is unknown. Raises InvalidEvidenceError for a missing column or an invalid
    value.
    """
    if not columns.goals:
        raise InvalidEvidenceError("name at least one column as a goal")
    frame = collected(df, columns.named)
    if frame.is_empty():
        raise InvalidEvidenceError("the frame has no rows")
    rows = frame.select(
        (pl.col(columns.visitor).cast(pl.String) if columns.visitor else pl.int_range(pl.len())).alias(
            "visitor"
        ),
        pl.col(columns.variant).cast(pl.String).alias("variant"),
        _microseconds(frame, columns.timestamp).alias("at"),
        *(
            (_flag(frame, name) if kind == "custom_event" else _cents(frame, name, columns.currency)).alias(
                f"goal_{i}"
            )
            for i, (name, kind) in enumerate(columns.goals.items())
        ),
        *(_text(frame, name).alias(f"segment_{i}") for i, name in enumerate(columns.segments)),
        *(
            _number(frame, named[name]).alias(f"{prefix}_{i}")
            for prefix, named in (
                ("before", columns.extra.covariates),
                ("orders", columns.extra.orders),
            )
            for i, name in enumerate(columns.goals)
            if name in named
        ),
    )
    needed = {"variant": columns.variant, "visitor": columns.visitor, "at": columns.timestamp}
    for column, name in needed.items():
        if name is not None and (missing := rows[column].null_count()):
            raise InvalidEvidenceError(
                f"{name!r} says nothing in {missing:,} rows; fill them or leave them out"
            )
    return rows


def collected(df: Any, names: list[str]) -> pl.DataFrame:  # noqa: ANN401  # any frame that narwhals supports
    """Load the named columns into memory."""
    try:
        frame = nw.from_native(df)
    except TypeError as unknown:
        raise InvalidEvidenceError(
            f"{type(df).__name__} is not a data frame; give one of Polars, pandas, PyArrow or DuckDB"
        ) from unknown
    known = frame.collect_schema().names()
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(repr, known))}"
            raise InvalidEvidenceError(f"there is no column {name!r}; {hint}")
    chosen = frame.select(names)
    return (chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen).to_polars()


def _microseconds(frame: pl.DataFrame, name: str | None) -> pl.Expr:
    if name is None:
        return pl.lit(None, pl.Int64)
    column, dtype = pl.col(name), frame.schema[name]
    if dtype == pl.String:
        column = column.str.strip_chars().str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    elif dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    elif not isinstance(dtype, pl.Datetime):
        raise InvalidEvidenceError(f"{name!r} holds {dtype}, not times; make it a datetime column")
    return column.dt.epoch("us")


def _text(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Values as text; empty text and NaN are null."""
    column = pl.col(name).fill_nan(None) if frame.schema[name].is_float() else pl.col(name)
    return column.cast(pl.String).replace("", None)


def _number(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Values as numbers; NaN is null."""
    if not (frame.schema[name].is_numeric() or frame.schema[name] == pl.Boolean):
        raise InvalidEvidenceError(f"{name!r} holds {frame.schema[name]}, not numbers")
    numbers = frame[name].cast(pl.Float64).fill_nan(None)
    if not numbers.is_finite().all():
        raise InvalidEvidenceError(f"{name!r} holds infinite numbers")
    return pl.lit(numbers)


def _flag(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Conversions as 1 or 0; null is 0."""
    values = frame[name]
    if values.dtype == pl.Boolean:
        return pl.col(name).fill_null(value=False).cast(pl.Int64)
    if not values.dtype.is_numeric():
        raise InvalidEvidenceError(f"{name!r} holds {values.dtype}; a goal is true or false, or 1 or 0")
    numbers = values.fill_nan(None) if values.dtype.is_float() else values
    if numbers.null_count():
        numbers = numbers.fill_null(0)
    if not ((numbers == 0) | (numbers == 1)).all():
        raise InvalidEvidenceError(
            f"{name!r} holds other numbers than 0 and 1; if they are amounts, make it a revenue goal"
        )
    return pl.lit(numbers.cast(pl.Int64))


def _cents(frame: pl.DataFrame, name: str, currency: str) -> pl.Expr:
    """Amounts in major units as whole minor units; null is 0."""
    if not frame.schema[name].is_numeric():
        raise InvalidEvidenceError(f"{name!r} holds {frame.schema[name]}; revenue is a number, such as 19.95")
    # NaN stands for a missing number.
    cents = np.rint(frame[name].cast(pl.Float64).to_numpy() * minor_units(currency))
    if np.isnan(cents).any():
        cents = np.nan_to_num(cents, nan=0.0, posinf=np.inf, neginf=-np.inf)
    if max(-cents.min(), cents.max()) >= _MOST_CENTS:
        raise InvalidEvidenceError(f"{name!r} holds amounts that are too large to be counted in cents")
    if np.abs(cents).sum() >= _MOST_CENTS_TOGETHER:
        raise InvalidEvidenceError(
            f"{name!r} adds up to more cents than 64 bits can hold; give smaller amounts"
        )
    return pl.lit(pl.Series(cents.astype(np.int64)))
