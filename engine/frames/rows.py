"""Columns of a DataFrame of any kind, and the validation of its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from engine.currencies import USUAL_CURRENCY
from engine.errors import InvalidEvidenceError
from engine.frames import column_errors
from engine.frames.frame_goal import FrameGoal
from engine.frames.funnels import check_steps, with_funnel
from engine.frames.goal_columns import flag, goal_columns, microseconds, number
from engine.frames.kinds import Funnel
from engine.frames.lazy.engine_queries import fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Roles of the columns of a DataFrame.

    `goals` are by their column, or the name of a ratio or funnel. Without `visitor` each row is a visitor.
    `timestamp` is the time of the row, in UTC unless it has a zone of its own. `segments` are dimensions.
    `currency` is the ISO 4217 code of amounts whose goal names none. `cluster` is what was assigned as a
    whole, where visitors were not assigned one by one.
    """

    variant: str
    goals: Mapping[str, FrameGoal]
    visitor: str | None = None
    timestamp: str | None = None
    segments: Sequence[str] = ()
    currency: str = USUAL_CURRENCY
    cluster: str | None = None

    def currency_of(self, goal: str) -> str:
        """Return the currency of a goal's amounts."""
        return self.goals[goal].own_currency or self.currency

    @property
    def named(self) -> list[str]:
        """Every column that is used, once."""
        goals = self.goals.items()
        names = [
            *(self.variant, self.visitor, self.timestamp, self.cluster),
            *(column for name, goal in goals for column in goal.columns(name)),
            *self.segments,
            *(column for _, goal in goals for column in goal.covariate_columns),
            *(goal.order_column for _, goal in goals),
            *(goal.known for _, goal in goals),
        ]
        return list(dict.fromkeys(name for name in names if name is not None))


def read_rows(df: Any, columns: Columns) -> pl.DataFrame:  # noqa: ANN401  # any frame that narwhals supports
    """Read and validate every row.

    Returns `visitor` (a key of the id, with clusters the id, or the number of the row), `variant` (text),
    `at` (microseconds since the epoch in UTC; null throughout without timestamps), for each goal the columns
    of `goal_columns.goal_columns` and `before_<i>`, `orders_<i>` and `known_<i>` where columns hold them, and
    the text `segment_<i>` for each segment, null where it is unknown, and with clusters their text `cluster`.
    Raises InvalidEvidenceError for a
    missing column or an invalid value.
    """
    if not columns.goals:
        raise InvalidEvidenceError("name at least one column as a goal")
    frame = collected(df, columns.named)
    if frame.is_empty():
        raise column_errors.no_rows()
    rows = frame.select(
        _visitor(columns).alias("visitor"),
        pl.col(columns.variant).cast(pl.String).alias("variant"),
        _times(frame, columns.timestamp).alias("at"),
        *([] if columns.cluster is None else [_text(frame, columns.cluster).alias("cluster")]),
        *(
            column
            for i, (name, goal) in enumerate(columns.goals.items())
            for column in goal_columns(frame, i, name, goal, currency=columns.currency_of(name))
        ),
        *(_text(frame, name).alias(f"segment_{i}") for i, name in enumerate(columns.segments)),
        *(
            covariate
            for i, goal in enumerate(columns.goals.values())
            for covariate in _covariates(frame, i, goal.covariate_columns, columns.variant)
        ),
        *(
            number(frame, goal.order_column).fill_null(0.0).alias(f"orders_{i}")
            for i, goal in enumerate(columns.goals.values())
            if goal.order_column is not None
        ),
    )
    rows = rows.with_columns(
        flag(frame, goal.known).alias(f"known_{i}")
        for i, goal in enumerate(columns.goals.values())
        if goal.known is not None
    )
    needed = {
        "variant": columns.variant,
        "visitor": columns.visitor,
        "at": columns.timestamp,
        "cluster": columns.cluster,
    }
    for column, name in needed.items():
        if name is not None and (missing := rows[column].null_count()):
            raise column_errors.missing_values(name, missing)
    for place, goal in enumerate(columns.goals.values()):
        if isinstance(goal, Funnel):
            check_steps(frame, rows, place, goal)
            is_timed = not (
                frame.schema[goal.steps[0]].is_numeric() or frame.schema[goal.steps[0]] == pl.Boolean
            )
            rows = with_funnel(rows, place, goal, is_timed=is_timed)
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


def chosen(df: Any, names: list[str]) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:  # noqa: ANN401  # as `table_of`
    """Choose the named columns; InvalidEvidenceError for one that is missing."""
    frame = table_of(df)
    known = frame.collect_schema().names()
    for name in names:
        column_errors.require_column(name, known)
    return frame.select(names)


def collected(df: Any, names: list[str]) -> pl.DataFrame:  # noqa: ANN401  # any frame that narwhals supports
    """Load the named columns into memory."""
    frame = chosen(df, names)
    return fetch(frame) if isinstance(frame, nw.LazyFrame) else frame.to_polars()


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


def _visitor(columns: Columns) -> pl.Expr:
    """Hash ids to 64 bits: of 10 million, two have one key with a probability of 3 in a million."""
    if columns.visitor is None:
        return pl.int_range(pl.len())
    text = pl.col(columns.visitor).cast(pl.String)
    # An error of clusters names a visitor.
    return text if columns.cluster else pl.when(text.is_not_null()).then(text.hash())


def _text(frame: pl.DataFrame, name: str) -> pl.Expr:
    """Values as text; empty text and NaN are null."""
    column = pl.col(name).fill_nan(None) if frame.schema[name].is_float() else pl.col(name)
    return column.cast(pl.String).replace("", None)
