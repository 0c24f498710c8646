"""Tables of one row per visitor: converted to exposures and conversions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from engine.currencies import minor_units
from engine.design.experiment import Experiment
from engine.validation.sent_ids import JUNK_IDS, MAX_ID_LENGTH
from pipeline.sources.cell_values import NO_WORD, number_fault, numbers, yes_or_no
from pipeline.sources.tables import LINE, BadRow, Chunk, Table
from pipeline.sources.times import read_times
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse.events import EVENT_SCHEMA

# Column names that are segments of their own; every other segment column becomes a custom dimension.
SEGMENT_COLUMNS = frozenset(DIMENSIONS) & frozenset(EVENT_SCHEMA)
# Parts of the major unit in the content of a row, so that it is the same whatever minor units are.
CONTENT_UNITS = 100
_TIME_FAULT = "(time fault)"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitorColumns:
    """Columns of a file of visitors.

    `goals` maps a column to `custom_event` (1 or 0, true or false) or `revenue` (an amount in major units
    such as dollars). Without `visitor` each row is a visitor; without `timestamp` every event has the time
    of the import. Times without an offset are of `time_zone`. `unit` has the id of what is compared, such as
    an account, where visitors are not.
    """

    variant: str
    goals: Mapping[str, str]
    visitor: str | None = None
    timestamp: str | None = None
    segments: Sequence[str] = ()
    time_zone: str = "UTC"
    unit: str | None = None

    @property
    def named(self) -> list[str]:
        """Every column of the file that is read."""
        optional = [name for name in (self.visitor, self.timestamp, self.unit) if name is not None]
        return [self.variant, *optional, *self.goals, *self.segments]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitorTables:
    """Tables of one row per visitor, read as one: their columns, the experiment's name and the control.

    Nothing is imported where more than the share `max_bad_share` of the rows is unusable.
    """

    tables: Sequence[Table]
    columns: VisitorColumns
    name: str
    control: str
    max_bad_share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRows:
    """Valid rows of a chunk, and the invalid ones.

    `rows` has the columns `visitor_id` (null where the file has none), `variant`, `occurred_at` (epoch µs),
    for each goal the whole numbers `goal:<column>` (1 or 0; minor units of the currency for revenue) and
    `content:<column>` (1 or 0; hundredths of the major unit, or minor units where those are smaller), and
    `segment:<column>` for each segment and for the unit.
    """

    rows: pl.DataFrame
    bad_rows: tuple[BadRow, ...]


def read_visitors(chunk: Chunk, columns: VisitorColumns, *, now_us: int, currency: str = "USD") -> ReadRows:
    """Parse each row of a chunk; a row with an invalid value is a bad row, with the reason.

    Amounts are of `currency` (ISO 4217).
    """
    units = minor_units(currency)
    parsed = chunk.rows.select(
        LINE,
        _visitor(columns.visitor).alias("visitor_id"),
        pl.col(columns.variant).cast(pl.String).alias("variant"),
        *_times(chunk.rows, columns, now_us),
        *(_amount(chunk, name, kind, units).alias(f"goal:{name}") for name, kind in columns.goals.items()),
        *(
            _amount(chunk, name, kind, max(units, CONTENT_UNITS)).alias(f"content:{name}")
            for name, kind in columns.goals.items()
        ),
        *(_goal_fault(chunk, name, kind).alias(f"fault:{name}") for name, kind in columns.goals.items()),
        # An empty cell is an unknown value.
        *(
            pl.col(name).cast(pl.String).replace("", None).alias(f"segment:{name}")
            for name in columns.segments
        ),
        *([] if columns.unit is None else [_id(chunk.rows, columns.unit).alias(f"segment:{columns.unit}")]),
    )
    checked = parsed.with_columns(_first_fault(columns).alias("fault"))
    faulty = checked.filter(pl.col("fault").is_not_null()).select(LINE, "fault")
    return ReadRows(
        rows=checked.filter(pl.col("fault").is_null()).drop("fault", _TIME_FAULT, LINE, "^fault:.*$"),
        bad_rows=(
            *chunk.bad_rows,
            *(BadRow(line, fault, chunk.table) for line, fault in faulty.iter_rows()),
        ),
    )


def events_of(rows: pl.DataFrame, experiment: Experiment, columns: VisitorColumns) -> pl.DataFrame:
    """Build the exposures and conversions of `experiment`, whose goals are named after the columns.

    Event ids derive from the `row_id` of each row, so that a repeated import counts once.
    """
    variant_ids = {variant.name: variant.id for variant in experiment.variants}
    known = [name for name in columns.segments if name in SEGMENT_COLUMNS]
    own = [name for name in columns.segments if name not in SEGMENT_COLUMNS]
    own += [] if columns.unit is None else [columns.unit]
    exposures = rows.select(
        pl.format("{}-x-{}", pl.lit(experiment.id), "row_id").alias("event_id"),
        "visitor_id",
        "occurred_at",
        pl.lit("exposure").alias("type"),
        pl.lit(experiment.id).alias("experiment_id"),
        pl.col("variant").replace_strict(variant_ids).alias("variant_id"),
        *(pl.col(f"segment:{name}").alias(name) for name in known),
        _custom(own).alias("custom"),
    )
    conversions = (_conversions(rows, experiment, name, kind) for name, kind in columns.goals.items())
    return pl.concat([exposures, *conversions], how="diagonal").with_columns(sender=pl.lit("import"))


def _custom(names: Sequence[str]) -> pl.Expr:
    """Encode segments as the JSON object of custom dimensions; null without any."""
    values = [pl.col(f"segment:{name}").alias(name) for name in names]
    return pl.struct(values).struct.json_encode() if values else pl.lit(None, pl.String)


def _conversions(rows: pl.DataFrame, experiment: Experiment, name: str, kind: str) -> pl.DataFrame:
    goal = next(goal for goal in experiment.goals if goal.name == name)
    amount = pl.col(f"goal:{name}")
    money = amount.abs() if kind == "revenue" else pl.lit(None, pl.Int64)
    return rows.filter(amount != 0).select(
        pl.format("{}-{}-{}", pl.lit(experiment.id), pl.lit(goal.id), "row_id").alias("event_id"),
        "visitor_id",
        "occurred_at",
        pl.lit("conversion").alias("type"),
        pl.lit(goal.id).alias("goal_id"),
        money.alias("revenue_cents"),
        (amount < 0).alias("is_refund"),
    )


def _visitor(name: str | None) -> pl.Expr:
    return pl.lit(None, pl.String) if name is None else pl.col(name).cast(pl.String).str.strip_chars()


def _id(rows: pl.DataFrame, name: str) -> pl.Expr:
    """Take an id as text; a whole number that the file writes with a point in its digits."""
    column = pl.col(name)
    if rows.schema[name].is_float():
        column = pl.when(column == column.round()).then(column.cast(pl.Int64, strict=False))
    return column.cast(pl.String).str.strip_chars()


def _times(rows: pl.DataFrame, columns: VisitorColumns, now_us: int) -> Sequence[pl.Expr | pl.Series]:
    """Build the time of each row, and why it is unusable."""
    if columns.timestamp is None:
        return pl.lit(now_us, pl.Int64).alias("occurred_at"), pl.lit(None, pl.String).alias(_TIME_FAULT)
    at, fault = read_times(rows, columns.timestamp, columns.time_zone, now_us=now_us)
    return at.alias("occurred_at"), fault.alias(_TIME_FAULT)


def _amount(chunk: Chunk, name: str, kind: str, units: int) -> pl.Expr:
    """Parse a goal as a whole number: 1 or 0, or `units` in the currency's unit; null where it is neither."""
    if kind != "revenue":
        return yes_or_no(name)
    # An empty cell is no revenue.
    is_empty = pl.col(name).cast(pl.String).fill_null("").str.strip_chars() == ""
    money = pl.when(is_empty).then(0.0).otherwise(numbers(name, chunk.rows.schema[name], chunk.delimiter))
    cents = (money * units).round()
    return pl.when(cents.is_finite()).then(cents).cast(pl.Int64, strict=False)


def _goal_fault(chunk: Chunk, name: str, kind: str) -> pl.Expr:
    """Build the reason why a goal has no value."""
    if kind != "revenue":
        return pl.lit(f"'{name}' {NO_WORD}")
    return number_fault(name, chunk.rows.schema[name], "an amount", chunk.delimiter)


def _first_fault(columns: VisitorColumns) -> pl.Expr:
    """Build the reason why a row is invalid; null for a valid row."""
    is_junk = pl.col("visitor_id").is_null() | pl.col("visitor_id").is_in(JUNK_IDS)
    told = [
        *([(is_junk, "has no usable visitor id")] if columns.visitor else []),
        *([(_is_no_id(columns.unit), f"has no usable id in '{columns.unit}'")] if columns.unit else []),
        (pl.col("variant").is_null() | (pl.col("variant") == ""), f"has no variant in '{columns.variant}'"),
    ]
    goals = [
        pl.when(pl.col(f"content:{name}").is_null()).then(pl.col(f"fault:{name}")) for name in columns.goals
    ]
    return pl.coalesce(
        *(pl.when(test).then(pl.lit(reason)) for test, reason in told),
        pl.col(_TIME_FAULT),
        *goals,
    )


def _is_no_id(unit: str) -> pl.Expr:
    text = pl.col(f"segment:{unit}")
    return text.is_null() | text.is_in(JUNK_IDS) | (text.str.len_chars() > MAX_ID_LENGTH)
