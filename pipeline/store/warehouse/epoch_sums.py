"""Sums over visitor rows by weight epoch."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import polars as pl

from pipeline.store.warehouse.aggregates import goals_with_revenue
from pipeline.store.warehouse.connection import Cursor, fetch_frame
from pipeline.store.warehouse.cubes import cube_sums
from pipeline.store.warehouse.visitors import (
    PAIRS,
    cents_of,
    day_column,
    result_table,
    segment_condition,
)

_FOREVER: Final = 2**62
_POWERS: Final = ("squared", "cubed_high", "cubed_low")


class _Stretch(NamedTuple):
    """Time from `began` to the next stretch: its visitors belong to `epoch`, settled in it or not."""

    began: int
    epoch: int
    is_settled: bool


def read_epochs(  # noqa: PLR0913  # the rest is said by name
    cursor: Cursor,
    experiment_id: str,
    goals: int,
    starts: Sequence[tuple[int, int]],
    segment: Mapping[str, str],
    *,
    last_days: Mapping[int, int] | None = None,
) -> pl.DataFrame:
    """Sum up the visitors who have every value of `segment`, by the epoch of their first exposure.

    `starts` are the start of each epoch, in order, and the time from which on visitors are settled in it, in
    microseconds since 1970. Earlier visitors belong to the first epoch, settled. One row per `epoch`,
    `variant` and `goal`: `visitors`, those `settled`, those `observed` (first exposed up to the goal's
    day in `last_days`, if it has one) and their `conversions`, `cents`, `cents_squared` and both
    parts of the cubes (`cubes`).
    """
    condition = segment_condition(cursor, experiment_id, segment)
    revenue_goals = goals_with_revenue(cursor, experiment_id)
    stretches = list(_stretches(starts))
    numbers = [*range(goals), *(goal for goal in revenue_goals if goal >= PAIRS)]
    observed = {goal: f"first_day <= {last_day:d}" for goal, last_day in (last_days or {}).items()}
    sums = ", ".join(
        _sums(goal, observed.get(goal, "true"), has_revenue=goal in revenue_goals) for goal in numbers
    )
    query = f"""
        SELECT {_stretch_of(stretches, 0, len(stretches))}::UINTEGER AS stretch, variant,
          count(*)::BIGINT AS visitors, {sums}
        FROM {result_table("visitors", experiment_id)} WHERE {condition} GROUP BY ALL
    """
    wide = (
        fetch_frame(cursor, query)
        .join(_stretch_rows(stretches), on="stretch")
        .cast({pl.Decimal(38, 0): pl.Int128})
    )
    wide = wide.with_columns(pl.when("is_settled").then("visitors").otherwise(0).alias("settled"))
    by_epoch = wide.drop("stretch", "is_settled").group_by("epoch", "variant").sum()
    return pl.concat([_select_goal(by_epoch, goal) for goal in numbers])


def _stretches(starts: Sequence[tuple[int, int]]) -> Iterator[_Stretch]:
    """Yield stretches in order of time: two per epoch, or one if it ends before visitors settle."""
    yield _Stretch(-_FOREVER, 0, is_settled=True)
    following = pairwise([*starts[1:], (_FOREVER, _FOREVER)])
    for epoch, ((began, settled), (ended, _)) in enumerate(following, start=1):
        yield _Stretch(began, epoch, is_settled=False)
        if settled < ended:
            yield _Stretch(settled, epoch, is_settled=True)


def _stretch_of(stretches: Sequence[_Stretch], first: int, end: int) -> str:
    """Build the SQL number of a visitor's stretch, by bisection: five times as fast as a join."""
    if end - first == 1:
        return str(first)
    middle = (first + end) // 2
    earlier, later = _stretch_of(stretches, first, middle), _stretch_of(stretches, middle, end)
    return f"CASE WHEN first_exposed_at < {stretches[middle].began} THEN {earlier} ELSE {later} END"


def _stretch_rows(stretches: Sequence[_Stretch]) -> pl.DataFrame:
    rows = [(number, one.epoch, one.is_settled) for number, one in enumerate(stretches)]
    return pl.DataFrame(
        rows, {"stretch": pl.UInt32, "epoch": pl.Int32, "is_settled": pl.Boolean}, orient="row"
    )


def _sums(goal: int, observed: str, *, has_revenue: bool) -> str:
    name = f"g{goal}"
    # Powers are summed in 128 bits, so that they stay exact.
    powers = ("0::DECIMAL(38, 0)",) * 3
    cents = cents_of(goal)
    if has_revenue:
        powers = (f"sum({cents}::HUGEINT * {cents})::DECIMAL(38, 0)", *cube_sums(cents))
    total = f"sum({cents})::BIGINT" if has_revenue else "0::BIGINT"
    columns = zip(("cents", *_POWERS), (total, *powers), strict=True)
    revenue = ", ".join(f"{column} AS {name}_{kind}" for kind, column in columns)
    counts = ", ".join(
        f"count({counted}) FILTER ({observed})::BIGINT AS {name}_{kind}"
        for kind, counted in (("observed", "*"), ("conversions", day_column(goal)))
    )
    return f"{counts}, {revenue}"


def _select_goal(by_epoch: pl.DataFrame, goal: int) -> pl.DataFrame:
    return by_epoch.select(
        "epoch",
        "variant",
        pl.lit(goal, pl.UInt8).alias("goal"),
        "visitors",
        "settled",
        *(pl.col(f"g{goal}_{kind}").alias(kind) for kind in ("observed", "conversions")),
        pl.col(f"g{goal}_cents").alias("cents"),
        *(pl.col(f"g{goal}_{power}").alias(f"cents_{power}") for power in _POWERS),
    )
