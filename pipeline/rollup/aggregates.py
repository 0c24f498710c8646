"""Sums over visitors of several experiments by goal, variant, day and segment.

Every sum is of integers, so the sums of different visitors add up exactly, in any order, and can be
subtracted again. Squares and cubes are summed in 128 bits, so the centred moments follow without loss.
"""

import operator
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

import polars as pl

from engine.analysis.evidence.days_since_exposure import MOST_DAYS
from engine.measures.sums import BUCKET_SUMS, MONEY
from engine.measures.sums import SUMS as SUMS_OF_GOALS
from pipeline.rollup.bucket_sums import bucket_sums
from pipeline.rollup.counting_rules import LEFT_OUT
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE, SUM_NAMES
from pipeline.store.warehouse.cubes import cube_parts
from pipeline.store.warehouse.segment_dimensions import CUSTOM
from pipeline.store.warehouse.visitors import day_column, summed_columns

CELL: Final = ("experiment", "dimension", "value", "variant", "goal", "sum", "day", "bucket")
# As `pipeline.store.warehouse.aggregates` describes them.
SUMS: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "visitors": pl.Int64,
    "conversions": pl.Int64,
    "total": pl.Int64,
    "cohort_conversions": pl.Int64,
    "cohort_total": pl.Int64,
    "cohort_squared": pl.Int128,
    "cohort_cubed_high": pl.Int128,
    "cohort_cubed_low": pl.Int128,
}
SCHEMA: Final = pl.Schema(
    {
        "experiment": pl.UInt16,
        "dimension": pl.String,
        "value": pl.String,
        "variant": pl.UInt8,
        "goal": pl.UInt8,
        "sum": SUM_NAMES,
        "day": pl.Int32,
        "bucket": pl.Int32,
        **SUMS,
    }
)
_KEYS: Final = ("experiment", "variant", "goal", "sum", "day")
# Bounds of the parts of a cell's number: of variants, goals and their sums, of local days by the calendar,
# and of codes of dimensions, which have at most MOST_VALUES values where they are summed up. With the 16 bits
# of an experiment's number they are 62 bits. Marks of visitors in no variant are the last of 256 numbers,
# and of these.
_VARIANTS: Final = 32
_FIRST_MARK: Final = _VARIANTS - (256 - min(LEFT_OUT))
_GOALS: Final = 64
_NO_GOAL: Final = _GOALS - 1
_NUMBERS: Final = {name: number for number, name in enumerate((*SUMS_OF_GOALS, *BUCKET_SUMS))}
_SUMS: Final = 8
# Sums of several columns are of the cohort only.
_BY_DAY: Final = tuple(_NUMBERS[one.name] for one in SUMS_OF_GOALS.values() if len(one.columns) == 1)
_DAYS: Final = 2**18
_CODES: Final = 2**14
_CELLS_OF_VARIANT: Final = _GOALS * _SUMS * _DAYS
_CELLS_OF_EXPERIMENT: Final = _VARIANTS * _CELLS_OF_VARIANT


def sum_visitors(
    visitors: pl.DataFrame, orders: pl.DataFrame, goals: int, codes: SegmentCodes, left_out: pl.DataFrame
) -> pl.DataFrame:
    """Sum up visitor rows of up to so many `goals`, whose segments are `codes`, and their orders.

    Each visitor counts with the factor `sign`, 1 or -1. Returns SCHEMA: all visitors (dimension EVERYONE),
    and each value of each dimension but those `left_out` (`experiment`, `dimension`).
    """
    values = codes.values()
    plain = values["dimension"].unique().sort().to_list()
    custom = codes.custom_values().join(left_out, on=["experiment", "dimension"], how="anti")
    measures = _measures(visitors, orders, goals, [*plain, *([CUSTOM] if custom.height else [])])
    parts = [_sum_all(measure) for measure in measures]
    if custom.height:
        parts += [_sum_by_custom_value(measure, custom) for measure in measures]
    for name in plain:
        without = left_out.filter(pl.col("dimension") == name)["experiment"]
        parts += [_sum_by_code(measure, name, without) for measure in measures]
    sums = pl.collect_all(parts, engine="streaming")
    coded = len(plain) * len(measures)
    return add_up([*sums[: len(sums) - coded], *_with_values(sums[len(sums) - coded :], values)])


def sum_since_exposure(visitors: pl.DataFrame, primary_goals: Sequence[int | None]) -> pl.DataFrame:
    """Count first conversions on each experiment's primary goal by days since the first exposure: SCHEMA.

    The dimension is SINCE_EXPOSURE, the value the number of local calendar days between the two, 0 to 27.
    """
    parts = [
        _since_exposure(visitors, goal, [number for number, one in enumerate(primary_goals) if one == goal])
        for goal in sorted({goal for goal in primary_goals if goal is not None})
        # Of experiments without rows here, which may be the only ones with so many goals.
        if day_column(goal) in visitors.columns
    ]
    return add_up(pl.collect_all(parts, engine="streaming"))


def _since_exposure(visitors: pl.DataFrame, goal: int, experiments: Sequence[int]) -> pl.LazyFrame:
    days = pl.col(f"g{goal}_day") - pl.col("first_day")
    return (
        visitors.lazy()
        .filter(pl.col("experiment").is_in(experiments))
        .select("experiment", "variant", "sign", pl.col("first_day").alias("day"), days.alias("days"))
        .filter(pl.col("days") < MOST_DAYS)
        .group_by("experiment", "variant", "day", "days")
        .agg(pl.col("sign").sum().alias("cohort_conversions"))
        .with_columns(
            pl.lit(SINCE_EXPOSURE).alias("dimension"),
            pl.col("days").cast(pl.String).alias("value"),
            pl.lit(goal, pl.UInt8).alias("goal"),
            pl.lit(MONEY.name, SUM_NAMES).alias("sum"),
        )
        .drop("days")
    )


def add_up(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Add sums of different visitors; a cell whose sums are all 0 is dropped."""
    cells = pl.concat([pl.DataFrame(schema=SCHEMA), *parts], how="diagonal")
    return (
        cells.lazy()
        .group_by(CELL)
        .agg(pl.col(list(SUMS)).sum())
        .filter(pl.any_horizontal(pl.col(list(SUMS)) != 0))
        .collect(engine="streaming")
    )


def of_experiment(cells: pl.DataFrame, number: int) -> pl.DataFrame:
    """Add the number of the experiment to its stored sums."""
    return cells.with_columns(pl.lit(number, pl.UInt16).alias("experiment"))


def negate(cells: pl.DataFrame) -> pl.DataFrame:
    """Negate the sums, so that adding them subtracts their visitors."""
    # Polars has no negation of 128-bit integers.
    return cells.with_columns(pl.col(list(SUMS)) * -1)


def _measures(
    visitors: pl.DataFrame, orders: pl.DataFrame, goals: int, segments: Sequence[str]
) -> list[pl.LazyFrame]:
    """List the frames to sum: visitors, outcomes of their cohort, conversions and revenue by day.

    Each has the number of its `cell`, as grouping by one column takes a third of the time.
    """
    exposed = visitors.lazy().select(
        _cell(pl.lit(_NO_GOAL), pl.lit(0), "first_day"), pl.col("sign").alias("visitors"), *segments
    )
    if goals == 0:
        return [exposed]
    columns = visitors.columns
    kept = [
        (goal, name)
        for name in SUMS_OF_GOALS
        for goal in range(goals)
        if set(columns).issuperset(summed_columns(goal, name))
    ]
    outcomes = pl.concat(_outcomes(visitors.lazy(), goal, name, segments) for goal, name in kept)
    value, sign = pl.col("value"), pl.col("sign")
    cubed_high, cubed_low = cube_parts(value)
    cohort = outcomes.select(
        _cell(pl.col("goal"), pl.col("number"), "first_day"),
        pl.when(_has_converted()).then(sign).otherwise(0).alias("cohort_conversions"),
        (value * sign).alias("cohort_total"),
        (value.cast(pl.Int128) ** 2 * sign).alias("cohort_squared"),
        (cubed_high * sign).alias("cohort_cubed_high"),
        (cubed_low * sign).alias("cohort_cubed_low"),
        *segments,
    )
    is_value = orders["bucket"].is_not_null()
    by_day = _by_day(outcomes, visitors, orders.filter(~is_value), segments)
    if not is_value.any():
        return [exposed, cohort, by_day]
    own = visitors.lazy().select("experiment", "visitor_key", "sign", "variant", "first_day", *segments)
    by_bucket = bucket_sums(orders.filter(is_value), own, segments).with_columns(
        _cell(pl.col("goal"), pl.col("sum").replace_strict(_NUMBERS, return_dtype=pl.UInt8), "first_day")
    )
    return [exposed, cohort, by_day, by_bucket.drop("experiment", "variant", "first_day", "goal", "sum")]


def _by_day(
    outcomes: pl.LazyFrame, visitors: pl.DataFrame, orders: pl.DataFrame, segments: Sequence[str]
) -> pl.LazyFrame:
    """List conversions and values on the day of the first conversion, and move orders of other days."""
    variants = visitors.lazy().select("experiment", "visitor_key", "sign", "variant", *segments)
    by = ["experiment", "visitor_key", "sign"]
    other_days = (
        orders.lazy()
        .join(variants, on=by)
        .with_columns(
            (pl.col("cents") * pl.col("sign")).alias("total"),
            pl.col("sum").replace_strict(_NUMBERS, return_dtype=pl.UInt8).alias("number"),
        )
    )
    no_conversion = pl.lit(0, pl.Int64).alias("conversions")
    goal, number, total = pl.col("goal"), pl.col("number"), pl.col("total")
    parts = [
        outcomes.filter(pl.col("converted") & number.is_in(_BY_DAY)).select(
            _cell(goal, number, "day"),
            pl.when(_has_converted()).then("sign").otherwise(0).alias("conversions"),
            (pl.col("value") * pl.col("sign")).alias("total"),
            *segments,
        ),
        other_days.select(_cell(goal, number, "day"), no_conversion, total, *segments),
        other_days.filter(pl.col("from_day").is_not_null()).select(
            _cell(goal, number, "from_day"), no_conversion, -total, *segments
        ),
    ]
    return pl.concat(parts)


def _has_converted() -> pl.Expr:
    """Tell whether a row of outcomes is that in which a conversion is counted, once a goal."""
    return pl.col("converted") & (pl.col("number") == _NUMBERS[MONEY.name])


def _outcomes(visitors: pl.LazyFrame, goal: int, name: str, segments: Sequence[str]) -> pl.LazyFrame:
    """List the visitors with a value of a sum; with conversions, those without one, too."""
    # Amounts are null in experiments without that measure.
    terms = [pl.col(column) * factor for column, factor in summed_columns(goal, name).items()]
    day, value = pl.col(day_column(goal)), reduce(operator.add, terms)
    converted, has_value = day.is_not_null(), value != 0
    return visitors.filter(converted | has_value if name == MONEY.name else has_value).select(
        *("experiment", "variant", "first_day", "sign", converted.alias("converted")),
        pl.lit(goal, pl.UInt8).alias("goal"),
        pl.lit(_NUMBERS[name], pl.UInt8).alias("number"),
        day.alias("day"),
        value.alias("value"),
        *segments,
    )


def _cell(goal: pl.Expr, number: pl.Expr, day: str) -> pl.Expr:
    """Number the `experiment`, `variant`, goal, sum and day of a row; see `_keys_of`."""
    arm = pl.col("experiment").cast(pl.UInt64) * _VARIANTS + pl.col("variant") % _VARIANTS
    since = (pl.col(day) + _DAYS // 2).cast(pl.UInt64)
    of_goal = goal.cast(pl.UInt64) * _SUMS + number.cast(pl.UInt64)
    return ((arm * (_GOALS * _SUMS) + of_goal) * _DAYS + since).alias("cell")


def _keys_of(cell: pl.Expr) -> list[pl.Expr]:
    """Take the number of a cell apart."""
    goal, variant = cell // (_SUMS * _DAYS) % _GOALS, cell // _CELLS_OF_VARIANT % _VARIANTS
    is_mark = variant >= _FIRST_MARK
    of_goal = goal != _NO_GOAL
    number = cell // _DAYS % _SUMS
    return [
        (cell // _CELLS_OF_EXPERIMENT).cast(pl.UInt16).alias("experiment"),
        pl.when(is_mark).then(variant + 256 - _VARIANTS).otherwise(variant).cast(pl.UInt8).alias("variant"),
        pl.when(of_goal).then(goal).cast(pl.UInt8).alias("goal"),
        pl.when(of_goal).then(number.cast(pl.UInt8)).cat.to(SUM_NAMES).alias("sum"),
        ((cell % _DAYS).cast(pl.Int32) - _DAYS // 2).alias("day"),
    ]


def _sums_of(measure: pl.LazyFrame) -> pl.Expr:
    return pl.col([name for name in measure.collect_schema() if name in SUMS]).sum()


def _bucket_of(measure: pl.LazyFrame) -> tuple[str, ...]:
    """Name the further key of sums by bucket."""
    return ("bucket",) if "bucket" in measure.collect_schema() else ()


def _sum_all(measure: pl.LazyFrame) -> pl.LazyFrame:
    everyone = pl.lit(EVERYONE)
    return (
        measure.group_by("cell", *_bucket_of(measure))
        .agg(_sums_of(measure))
        .with_columns(*_keys_of(pl.col("cell")), everyone.alias("dimension"), everyone.alias("value"))
        .drop("cell")
    )


def _sum_by_code(measure: pl.LazyFrame, dimension: str, without: pl.Series) -> pl.LazyFrame:
    if without.len():
        experiment = pl.col("cell") // _CELLS_OF_EXPERIMENT
        measure = measure.filter(~experiment.is_in(without.cast(pl.UInt64).implode()))
    return (
        measure.with_columns((pl.col("cell") * _CODES + pl.col(dimension)).alias("cell_and_code"))
        .drop_nulls("cell_and_code")
        .group_by("cell_and_code", *_bucket_of(measure))
        .agg(_sums_of(measure))
        .with_columns(pl.lit(dimension).alias("dimension"))
    )


def _with_values(sums: Sequence[pl.DataFrame], values: pl.DataFrame) -> list[pl.DataFrame]:
    """Add the keys of cells and the segment values to sums by code, all in one pass."""
    if not sums:
        return []
    kinds = pl.Enum(values["dimension"].unique().sort())
    code = (pl.col("cell_and_code") % _CODES).cast(pl.UInt32).alias("code")
    keyed = pl.concat(sums, how="diagonal").with_columns(
        *_keys_of(pl.col("cell_and_code") // _CODES), code, pl.col("dimension").cast(kinds)
    )
    found = keyed.join(
        values.with_columns(pl.col("dimension").cast(kinds)), on=["experiment", "dimension", "code"]
    )
    return [found.drop("cell_and_code", "code").cast({"dimension": pl.String})]


def _sum_by_custom_value(measure: pl.LazyFrame, custom: pl.DataFrame) -> pl.LazyFrame:
    return (
        measure.group_by(CUSTOM, "cell", *_bucket_of(measure))
        .agg(_sums_of(measure))
        .with_columns(_keys_of(pl.col("cell")))
        .join(custom.lazy(), left_on=["experiment", CUSTOM], right_on=["experiment", "code"])
        .group_by("dimension", "value", *_KEYS, *_bucket_of(measure))
        .agg(_sums_of(measure))
    )
