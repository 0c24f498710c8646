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
from pipeline.rollup.segment_codes import SegmentCodes
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE
from pipeline.store.warehouse.cubes import cube_parts
from pipeline.store.warehouse.segment_dimensions import CUSTOM
from pipeline.store.warehouse.visitors import AMOUNTS, DENOMINATORS, PAIRS, cents_columns, day_column

CELL: Final = ("experiment", "dimension", "value", "variant", "goal", "day")
# `visitors` (without a goal) and the cohort's sums are by the day of first exposure, `conversions` by the day
# of a visitor's first conversion, `cents` by the day of the order. Amounts of a goal's measure are summed
# like the cents of the goal AMOUNTS more, those of denominators of DENOMINATORS more, and both of PAIRS more.
SUMS: Final = {
    "visitors": pl.Int64,
    "conversions": pl.Int64,
    "cents": pl.Int64,
    "cohort_conversions": pl.Int64,
    "cohort_cents": pl.Int64,
    "cohort_cents_squared": pl.Int128,
    "cohort_cents_cubed_high": pl.Int128,
    "cohort_cents_cubed_low": pl.Int128,
}
SCHEMA: Final = pl.Schema(
    {
        "experiment": pl.UInt16,
        "dimension": pl.String,
        "value": pl.String,
        "variant": pl.UInt8,
        "goal": pl.UInt8,
        "day": pl.Int32,
        **SUMS,
    }
)
_KEYS: Final = ("experiment", "variant", "goal", "day")
# Bounds of the parts of a cell's number: of variants and goals, of local days by the calendar, and of codes
# of dimensions, which have at most MOST_VALUES values where they are summed up. With the 16 bits of an
# experiment's number they are 64 bits.
_VARIANTS: Final = 256
_GOALS: Final = 256
_NO_GOAL: Final = _GOALS - 1
_DAYS: Final = 2**18
_CODES: Final = 2**14
_CELLS_OF_EXPERIMENT: Final = _VARIANTS * _GOALS * _DAYS


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
        _cell(pl.lit(_NO_GOAL), "first_day"), pl.col("sign").alias("visitors"), *segments
    )
    if goals == 0:
        return [exposed]
    columns = visitors.columns
    numbers = [
        base + goal
        for base in (0, PAIRS, AMOUNTS, DENOMINATORS)
        for goal in range(goals)
        if set(columns).issuperset(cents_columns(base + goal))
    ]
    outcomes = pl.concat(_outcomes(visitors.lazy(), number, segments) for number in numbers)
    cubed_high, cubed_low = cube_parts(pl.col("cents"))
    cohort = outcomes.select(
        _cell(pl.col("goal"), "first_day"),
        (pl.col("converted") * pl.col("sign")).alias("cohort_conversions"),
        (pl.col("cents") * pl.col("sign")).alias("cohort_cents"),
        (pl.col("cents").cast(pl.Int128) ** 2 * pl.col("sign")).alias("cohort_cents_squared"),
        (cubed_high * pl.col("sign")).alias("cohort_cents_cubed_high"),
        (cubed_low * pl.col("sign")).alias("cohort_cents_cubed_low"),
        *segments,
    )
    return [exposed, cohort, _by_day(outcomes, visitors, orders, segments)]


def _by_day(
    outcomes: pl.LazyFrame, visitors: pl.DataFrame, orders: pl.DataFrame, segments: Sequence[str]
) -> pl.LazyFrame:
    """List conversions and revenue on the day of the first conversion, and move orders of other days."""
    variants = visitors.lazy().select("experiment", "visitor_key", "sign", "variant", *segments)
    by = ["experiment", "visitor_key", "sign"]
    other_days = orders.lazy().join(variants, on=by).with_columns(pl.col("cents") * pl.col("sign"))
    no_conversion = pl.lit(0, pl.Int64).alias("conversions")
    goal, cents = pl.col("goal"), pl.col("cents")
    parts = [
        outcomes.filter("converted").select(
            _cell(goal, "day"), pl.col("sign").alias("conversions"), cents * pl.col("sign"), *segments
        ),
        other_days.select(_cell(goal, "day"), no_conversion, cents, *segments),
        other_days.filter(pl.col("from_day").is_not_null()).select(
            _cell(goal, "from_day"), no_conversion, -cents, *segments
        ),
    ]
    return pl.concat(parts)


def _outcomes(visitors: pl.LazyFrame, goal: int, segments: Sequence[str]) -> pl.LazyFrame:
    # Amounts are null in experiments without that measure.
    day, cents = pl.col(day_column(goal)), reduce(operator.add, map(pl.col, cents_columns(goal)))
    converted, has_cents = day.is_not_null(), cents != 0
    return visitors.filter(converted | has_cents if goal < PAIRS else has_cents).select(
        *("experiment", "variant", "first_day", "sign", converted.alias("converted")),
        pl.lit(goal, pl.UInt8).alias("goal"),
        day.alias("day"),
        cents.alias("cents"),
        *segments,
    )


def _cell(goal: pl.Expr, day: str) -> pl.Expr:
    """Number the `experiment`, `variant`, goal and day of a row; see `_keys_of`."""
    arm = pl.col("experiment").cast(pl.UInt64) * _VARIANTS + pl.col("variant")
    since = (pl.col(day) + _DAYS // 2).cast(pl.UInt64)
    return ((arm * _GOALS + goal.cast(pl.UInt64)) * _DAYS + since).alias("cell")


def _keys_of(cell: pl.Expr) -> list[pl.Expr]:
    """Take the number of a cell apart."""
    goal = cell // _DAYS % _GOALS
    return [
        (cell // _CELLS_OF_EXPERIMENT).cast(pl.UInt16).alias("experiment"),
        (cell // (_DAYS * _GOALS) % _VARIANTS).cast(pl.UInt8).alias("variant"),
        pl.when(goal != _NO_GOAL).then(goal).cast(pl.UInt8).alias("goal"),
        ((cell % _DAYS).cast(pl.Int32) - _DAYS // 2).alias("day"),
    ]


def _sums_of(measure: pl.LazyFrame) -> pl.Expr:
    return pl.col([name for name in measure.collect_schema() if name in SUMS]).sum()


def _sum_all(measure: pl.LazyFrame) -> pl.LazyFrame:
    everyone = pl.lit(EVERYONE)
    return (
        measure.group_by("cell")
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
        .group_by("cell_and_code")
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
        measure.group_by(CUSTOM, "cell")
        .agg(_sums_of(measure))
        .with_columns(_keys_of(pl.col("cell")))
        .join(custom.lazy(), left_on=["experiment", CUSTOM], right_on=["experiment", "code"])
        .group_by("dimension", "value", *_KEYS)
        .agg(_sums_of(measure))
    )
