"""Rows of a lazy table that were validated by its engine, in the form of those of a DataFrame."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import narwhals as nw
import polars as pl

from engine.errors import InvalidEvidenceError
from engine.frames import column_errors
from engine.frames.counts import moment
from engine.frames.kinds import Funnel
from engine.frames.lazy.engine_queries import Table, fetch, flag, without_nan
from engine.frames.lazy.lazy_columns import (
    LazyColumn,
    columns_of_goal,
    flag_column,
    number_column,
    text_column,
    time_literal,
)
from engine.frames.lazy.lazy_funnels import has_flags, with_funnels
from engine.frames.rows import Columns
from engine.frames.seen import Seen
from engine.local_days import local_day_starts

# Distinct values of a variant column that are fetched; an experiment has fewer.
_MOST_VARIANTS: Final = 1000
# Local days of one table: each is a comparison in the queries.
_MOST_DAYS: Final = 4000
_NEEDED: Final = ("variant", "visitor", "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyRows:
    """Validated rows of a lazy table, and what is known of all of them.

    `table` has `variant` as it is stored, `visitor` where a column has the ids, `at` where one has the times,
    the doubles `goal_<i>`, `before_<i>`, `orders_<i>` and `known_<i>`, `reached_<i>` of funnels, and
    `segment_<i>` as it is stored. `variants` maps the text of each variant to its
    stored value. `first_us` and `last_us` are the first and last time, in microseconds since the epoch.
    """

    table: Table
    columns: Columns
    variants: dict[str, Any]
    first_us: int | None
    last_us: int | None
    time_type: Any

    @property
    def is_distinct(self) -> bool:
        """Tell whether each row is a visitor."""
        return self.columns.visitor is None

    @property
    def seen(self) -> Seen:
        """What was seen in the rows."""
        return Seen(variants=list(self.variants), first=moment(self.first_us), last=moment(self.last_us))

    def day(self, timezone: str) -> nw.Expr | None:
        """Build the local day of a row, in days since 1970-01-01; None without times."""
        if self.first_us is None or self.last_us is None:
            return None
        starts, days = local_day_starts(self.first_us, self.last_us, timezone)
        if len(days) > _MOST_DAYS:
            raise InvalidEvidenceError(
                f"{self.columns.timestamp!r} goes over {len(days):,} days, and at most {_MOST_DAYS:,} are "
                "counted; leave out the rows with impossible times"
            )
        thresholds = [time_literal(self.time_type, start) for start in starts[1:]]
        return _piecewise(nw.col("at"), thresholds, days)


def lazy_rows(frame: Table, columns: Columns) -> LazyRows:
    """Select and validate the rows of a lazy table, in two queries; InvalidEvidenceError as `read_rows`."""
    schema = frame.collect_schema()
    for name in columns.named:
        column_errors.require_column(name, schema.names())
    if columns.timestamp is not None and not isinstance(schema[columns.timestamp], nw.Date | nw.Datetime):
        raise column_errors.not_times(columns.timestamp, schema[columns.timestamp])
    frame = without_nan(frame, columns.named)
    found = list(_columns(schema, columns))
    needed = {
        alias: name
        for alias, name in zip(_NEEDED, (columns.variant, columns.visitor, columns.timestamp), strict=True)
        if name is not None
    }
    facts = _checked(frame, found, needed)
    table = with_funnels(
        frame.select(
            *(nw.col(name).alias(alias) for alias, name in needed.items()),
            *(column.values.alias(column.name) for column in found),
        ),
        goals := list(columns.goals.values()),
        [i for i, goal in enumerate(goals) if isinstance(goal, Funnel) and has_flags(goal, schema)],
        is_distinct=columns.visitor is None,
    )
    return LazyRows(
        table=table,
        columns=columns,
        variants=_variants(table, columns.variant),
        first_us=microseconds_of(facts["first"]) if columns.timestamp else None,
        last_us=microseconds_of(facts["last"]) if columns.timestamp else None,
        time_type=schema[columns.timestamp] if columns.timestamp else None,
    )


def _columns(schema: nw.Schema, columns: Columns) -> Iterator[LazyColumn]:
    for place, (name, goal) in enumerate(columns.goals.items()):
        yield from columns_of_goal(schema, place, name, goal, currency=columns.currency_of(name))
        names = goal.covariate_columns
        for each, covariate in enumerate(names):
            is_text = schema.get(covariate) == nw.String
            alias = f"before_{place}" if len(names) == 1 and not is_text else f"before_{place}_{each}"
            yield text_column(covariate, alias) if is_text else number_column(schema, covariate, alias)
        if goal.order_column is not None:
            orders = number_column(schema, goal.order_column, f"orders_{place}")
            yield replace(orders, values=orders.values.fill_null(0.0))
        if goal.known is not None:
            yield flag_column(schema, goal.known, f"known_{place}")
    for place, name in enumerate(columns.segments):
        is_text = schema[name] == nw.String
        alias = f"segment_{place}"
        yield text_column(name, alias) if is_text else LazyColumn(alias, nw.col(name))


def _checked(frame: Table, found: list[LazyColumn], needed: dict[str, str]) -> pl.DataFrame:
    """Fetch the first and last time in one row; InvalidEvidenceError as `lazy_rows`."""
    checks = [check for column in found for check in column.checks]
    times = (
        []
        if "at" not in needed
        else [nw.col(needed["at"]).min().alias("first"), nw.col(needed["at"]).max().alias("last")]
    )
    facts = fetch(
        frame.select(
            nw.len().alias("rows"),
            *times,
            *(flag(nw.col(name).is_null()).sum().alias(f"missing {alias}") for alias, name in needed.items()),
            *(check.total.cast(nw.Float64).alias(f"check {i}") for i, check in enumerate(checks)),
        )
    )
    row = facts.row(0, named=True)
    if not row["rows"]:
        raise column_errors.no_rows()
    for i, check in enumerate(checks):
        if check.is_broken(row[f"check {i}"]):
            raise check.error
    for alias, name in needed.items():
        if missing := int(row[f"missing {alias}"]):
            raise column_errors.missing_values(name, missing)
    return facts


def _variants(table: Table, name: str) -> dict[str, Any]:
    values = fetch(table.select("variant").unique().head(_MOST_VARIANTS + 1))["variant"]
    if len(values) > _MOST_VARIANTS:
        raise InvalidEvidenceError(
            f"{name!r} has more than {_MOST_VARIANTS:,} values; name the variants' column"
        )
    return dict(zip(values.cast(pl.String).to_list(), values.to_list(), strict=True))


def microseconds_of(times: pl.Series) -> int | None:
    """Convert one fetched time, without a zone in UTC, to microseconds since the epoch; null is None."""
    found: int | None = times.cast(pl.Datetime("us")).dt.epoch("us").item()
    return found


def _piecewise(column: nw.Expr, thresholds: list[nw.Expr], values: list[int]) -> nw.Expr:
    """Build the step function with the value after the last threshold that is not after the column."""
    if not thresholds:
        return nw.lit(values[0])
    middle = len(thresholds) // 2
    before = _piecewise(column, thresholds[:middle], values[: middle + 1])
    after = _piecewise(column, thresholds[middle + 1 :], values[middle + 1 :])
    return nw.when(column < thresholds[middle]).then(before).otherwise(after)
