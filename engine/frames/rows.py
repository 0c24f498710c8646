"""Columns of a DataFrame of any kind, and the validation of its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import polars as pl

from engine.errors import InvalidEvidenceError
from engine.frames import column_errors
from engine.frames.currency import Currency, currency_of
from engine.frames.funnels import check_steps, with_funnel
from engine.frames.goal_columns import goal_columns, microseconds, number
from engine.frames.kinds import Funnel, GoalMeasure, columns_of

# Kinds of goals whose values can be capped.
_CAPPED = ("revenue", "count", "value", "mean")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueColumns:
    """Additional columns of goals, by the goal's column; `caps` maps it to a percentile.

    `covariates` hold the visitor's value before the first exposure, in any unit, or categories at the first
    exposure; several of them are in a list. `orders` the number of
    orders in the row.
    """

    covariates: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    caps: Mapping[str, float] = field(default_factory=dict)

    @property
    def goals(self) -> set[str]:
        """Goals with additional columns or a cap."""
        return {*self.covariates, *self.orders, *self.caps}

    @property
    def named(self) -> list[str]:
        """Every additional column."""
        return [
            *(name for goal in self.covariates for name in self.covariates_of(goal)),
            *self.orders.values(),
        ]

    def covariates_of(self, goal: str) -> tuple[str, ...]:
        """List the columns with the covariates of a goal."""
        given = self.covariates[goal]
        return (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))

    def validate(self, kinds: Mapping[str, GoalMeasure]) -> None:
        """Raise InvalidEvidenceError for a column that is no goal, or a goal of the wrong kind."""
        for name in sorted(self.goals):
            if name not in kinds:
                raise InvalidEvidenceError(f"{name!r} has a covariate, orders or a cap, but is no goal")
            if name in self.covariates and not self.covariates_of(name):
                raise InvalidEvidenceError(f"the covariates of {name!r} are an empty list; name a column")
            self._require_other_columns(name, kinds[name])
            if kinds[name] != "revenue" and name in self.orders:
                raise InvalidEvidenceError(
                    f"{name!r} is no revenue goal, so it has no orders; make the ratio a goal of its own,"
                    " such as Ratio('clicks', 'views')"
                )
            if kinds[name] not in _CAPPED and name in self.caps:
                raise InvalidEvidenceError(
                    f"{name!r} is no goal of amounts, counts or values, so it has neither orders nor a cap"
                )
            if not 50 <= self.caps.get(name, 100) <= 100:
                raise InvalidEvidenceError(
                    f"cap_percentile of {name!r} is {self.caps[name]:g}; it is from 50 to 100, such as 99"
                )

    def _require_other_columns(self, goal: str, kind: GoalMeasure) -> None:
        """Raise InvalidEvidenceError for a covariate that is a column of its goal."""
        own = {*columns_of(goal, kind), *filter(None, [self.orders.get(goal)])}
        for column in self.covariates_of(goal) if goal in self.covariates else ():
            if column in own:
                raise InvalidEvidenceError(
                    f"{column!r} is a covariate of {goal!r} and what it is counted from; a covariate is "
                    "known before the first exposure, such as the same number of the weeks before"
                )


NO_VALUE_COLUMNS = ValueColumns()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Roles of the columns of a DataFrame.

    `goals` maps a column, or the name of a ratio or funnel, to its kind (see `kinds.GoalMeasure`). Without
    `visitor` each row is a visitor. `timestamp` is the time of the row, in UTC unless it has a zone of its
    own. `segments` are dimensions. `currency` is the ISO 4217 code of the amounts, or
    those by goal.
    """

    variant: str
    goals: Mapping[str, GoalMeasure]
    visitor: str | None = None
    timestamp: str | None = None
    segments: Sequence[str] = ()
    extra: ValueColumns = NO_VALUE_COLUMNS
    currency: Currency = "USD"

    def currency_of(self, goal: str) -> str:
        """Return the currency of a goal's amounts."""
        return currency_of(goal, self.currency)

    @property
    def named(self) -> list[str]:
        """Every column that is used, once."""
        optional = [name for name in (self.visitor, self.timestamp) if name is not None]
        goals = (column for name, kind in self.goals.items() for column in columns_of(name, kind))
        return list(dict.fromkeys([self.variant, *optional, *goals, *self.segments, *self.extra.named]))


def read_rows(df: Any, columns: Columns) -> pl.DataFrame:  # noqa: ANN401  # any frame that narwhals supports
    """Read and validate every row.

    Returns `visitor` (text, or the number of the row), `variant` (text), `at` (microseconds since the
    epoch in UTC; null throughout without timestamps), for each goal the columns of
    `goal_columns.goal_columns` and `before_<i>` and `orders_<i>` where columns hold them, and the text
    `segment_<i>` for each segment, null where it is unknown. Raises InvalidEvidenceError for a missing column
    or an invalid value.
    """
    if not columns.goals:
        raise InvalidEvidenceError("name at least one column as a goal")
    frame = collected(df, columns.named)
    if frame.is_empty():
        raise column_errors.no_rows()
    rows = frame.select(
        (pl.col(columns.visitor).cast(pl.String) if columns.visitor else pl.int_range(pl.len())).alias(
            "visitor"
        ),
        pl.col(columns.variant).cast(pl.String).alias("variant"),
        _times(frame, columns.timestamp).alias("at"),
        *(
            column
            for i, (name, kind) in enumerate(columns.goals.items())
            for column in goal_columns(frame, i, name, kind, currency=columns.currency_of(name))
        ),
        *(_text(frame, name).alias(f"segment_{i}") for i, name in enumerate(columns.segments)),
        *(
            covariate
            for i, name in enumerate(columns.goals)
            if name in columns.extra.covariates
            for covariate in _covariates(frame, i, columns.extra.covariates_of(name), columns.variant)
        ),
        *(
            number(frame, columns.extra.orders[name]).fill_null(0.0).alias(f"orders_{i}")
            for i, name in enumerate(columns.goals)
            if name in columns.extra.orders
        ),
    )
    needed = {"variant": columns.variant, "visitor": columns.visitor, "at": columns.timestamp}
    for column, name in needed.items():
        if name is not None and (missing := rows[column].null_count()):
            raise column_errors.missing_values(name, missing)
    for place, kind in enumerate(columns.goals.values()):
        if isinstance(kind, Funnel):
            check_steps(frame, rows, place, kind)
            is_timed = not (
                frame.schema[kind.steps[0]].is_numeric() or frame.schema[kind.steps[0]] == pl.Boolean
            )
            rows = with_funnel(rows, place, kind, is_timed=is_timed)
    return rows


def table_of(df: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:  # noqa: ANN401  # any frame that narwhals supports
    """Wrap a frame of any kind; InvalidEvidenceError for what is no frame."""
    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(df)
    except TypeError as unknown:
        raise InvalidEvidenceError(
            f"{type(df).__name__} is not a data frame; give one of Polars, pandas, PyArrow or DuckDB"
        ) from unknown
    return frame


def collected(df: Any, names: list[str]) -> pl.DataFrame:  # noqa: ANN401  # any frame that narwhals supports
    """Load the named columns into memory."""
    frame = table_of(df)
    known = frame.collect_schema().names()
    for name in names:
        column_errors.require_column(name, known)
    chosen = frame.select(names)
    return (chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen).to_polars()


def _covariates(frame: pl.DataFrame, place: int, names: Sequence[str], variant: str) -> Iterator[pl.Expr]:
    """Yield the covariates of the goal at a place: `before_<i>` for one number, else `before_<i>_<k>`."""
    if variant in names:
        raise InvalidEvidenceError(
            f"{variant!r} is the variant: a covariate is known before the first exposure"
        )
    texts = [frame.schema[name] in {pl.String, pl.Categorical, pl.Enum} for name in names]
    if len(names) == 1 and not texts[0]:
        yield number(frame, names[0]).alias(f"before_{place}")
        return
    for each, (name, is_text) in enumerate(zip(names, texts, strict=True)):
        column = _text(frame, name) if is_text else number(frame, name)
        yield column.alias(f"before_{place}_{each}")


def _times(frame: pl.DataFrame, name: str | None) -> pl.Expr:
    return pl.lit(None, pl.Int64) if name is None else microseconds(frame, name)


def _text(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Values as text; empty text and NaN are null."""
    column = pl.col(name).fill_nan(None) if frame.schema[name].is_float() else pl.col(name)
    return column.cast(pl.String).replace("", None)
