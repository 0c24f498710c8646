"""Sums over visitor rows by weight epoch."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import polars as pl

from engine.measures.sums import MONEY
from pipeline.store.warehouse.aggregates import sums_with_values
from pipeline.store.warehouse.connection import fetch_frame
from pipeline.store.warehouse.cubes import cube_sums
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.visitors import day_column, summed_value

_FOREVER: Final = 2**62
_POWERS: Final = ("squared", "cubed_high", "cubed_low")


class _Stretch(NamedTuple):
    """Time from `began` to the next stretch: its visitors belong to `epoch`, settled in it or not."""

    began: int
    epoch: int
    is_settled: bool


def read_epochs(
    visitors: SelectedVisitors,
    goals: int,
    starts: Sequence[tuple[int, int]],
    *,
    last_days: Mapping[int, int] | None = None,
) -> pl.DataFrame:
    """Sum up visitors by the epoch of their first exposure.

    `starts` are the start of each epoch, in order, and the time from which on visitors are settled in it, in
    microseconds since 1970. Earlier visitors belong to the first epoch, settled. One row per `epoch`,
    `variant`, `goal` and `sum`: `visitors`, those `settled`, those `observed` (first exposed up to the goal's
    day in `last_days`, if it has one) and their `conversions`, and the `total`, squares (`squared`)
    and both parts of the cubes (`cubed`) of what the sum adds up of them.
    """
    valued = sums_with_values(visitors.cursor, visitors.experiment_id)
    stretches = list(_stretches(starts))
    # Every goal has conversions.
    sums_of = list(dict.fromkeys([*((goal, MONEY.name) for goal in range(goals)), *valued]))
    observed = {goal: f"first_day <= {last_day:d}" for goal, last_day in (last_days or {}).items()}
    sums = ", ".join(
        _sums(goal, name, observed.get(goal, "true"), has_values=(goal, name) in valued)
        for goal, name in sums_of
    )
    query = f"""
        SELECT {_stretch_of(stretches, 0, len(stretches))}::UINTEGER AS stretch, variant,
          count(*)::BIGINT AS visitors, {sums}
        FROM {visitors.table} WHERE {visitors.condition} GROUP BY ALL
    """
    wide = (
        fetch_frame(visitors.cursor, query)
        .join(_stretch_rows(stretches), on="stretch")
        .cast({pl.Decimal(38, 0): pl.Int128})
    )
    wide = wide.with_columns(pl.when("is_settled").then("visitors").otherwise(0).alias("settled"))
    by_epoch = wide.drop("stretch", "is_settled").group_by("epoch", "variant").sum()
    return pl.concat([_select_sum(by_epoch, goal, name) for goal, name in sums_of])


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


def _sums(goal: int, name: str, observed: str, *, has_values: bool) -> str:
    prefix, value = f"g{goal}_{name}", summed_value(goal, name)
    # Powers are summed in 128 bits, so that they stay exact.
    totals = ("0::BIGINT", *("0::DECIMAL(38, 0)",) * len(_POWERS))
    if has_values:
        # Only of visitors with a known outcome: others add nothing.
        value = value if observed == "true" else f"CASE WHEN {observed} THEN {value} ELSE 0 END"
        squares = f"sum(({value})::HUGEINT * ({value}))::DECIMAL(38, 0)"
        totals = (f"sum({value})::BIGINT", squares, *cube_sums(f"({value})"))
    counts = (
        f"count({counted}) FILTER ({observed})::BIGINT AS {prefix}_{kind}"
        for kind, counted in (("observed", "*"), ("conversions", day_column(goal)))
    )
    columns = zip(("total", *_POWERS), totals, strict=True)
    return ", ".join([*counts, *(f"{total} AS {prefix}_{kind}" for kind, total in columns)])


def _select_sum(by_epoch: pl.DataFrame, goal: int, name: str) -> pl.DataFrame:
    return by_epoch.select(
        *("epoch", "variant"),
        pl.lit(goal, pl.UInt8).alias("goal"),
        pl.lit(name).alias("sum"),
        *("visitors", "settled"),
        *(pl.col(f"g{goal}_{name}_{kind}").alias(kind) for kind in ("observed", "conversions", "total")),
        *(pl.col(f"g{goal}_{name}_{power}").alias(power) for power in _POWERS),
    )
