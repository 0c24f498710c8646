"""Largest visitors of each variant on each goal, from visitor rows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame
from pipeline.store.warehouse.value_sums import SummedGoal
from pipeline.store.warehouse.visitors import read_columns, result_table, segment_condition

_Kinds: TypeAlias = Mapping[str, pl.DataType | type[pl.DataType]]
_CELL: Final[_Kinds] = {"variant": pl.UInt8, "goal": pl.UInt8}
_COUNTS: Final[_Kinds] = dict.fromkeys(("largest", "nonzero", "with_denominator"), pl.Int64)
_VALUES: Final[_Kinds] = dict.fromkeys(("value", "denominator", "before"), pl.Int64)
_VISITORS: Final = pl.List(pl.Struct(_VALUES))
_LISTS: Final = ("by_value", "by_denominator")


@dataclass(frozen=True, slots=True)
class Extremes:
    """Largest visitors of each `goal` and `variant` with visitors, both by position.

    `counts` has a row each: `largest` is the largest value, `nonzero` visitors have a value other than 0, and
    `with_denominator` ones a denominator above 0. `visitors` has a row a visitor, with whole numbers: its
    `value`, `denominator` or orders, and value `before` the first exposure, null where they are not counted.
    Those of `list` 0 have the largest values in size, those of 1 the largest denominators; `place` counts up
    from 0, the largest one.
    """

    counts: pl.DataFrame
    visitors: pl.DataFrame


NO_EXTREMES: Final = Extremes(
    counts=pl.DataFrame(schema={**_CELL, **_COUNTS}),
    visitors=pl.DataFrame(schema={**_CELL, **_VALUES, "place": pl.Int64, "list": pl.Int32}),
)


def read_extremes(  # noqa: PLR0913  # as `read_value_sums`
    cursor: Cursor,
    experiment_id: str,
    goals: Sequence[SummedGoal],
    segment: Mapping[str, str],
    *,
    variants: int,
    most: int,
    last_days: Mapping[int, int],
) -> Extremes:
    """Find the `most` largest visitors of goals with values.

    Of visitors who have every value of `segment`; of goals with one of `last_days`, by position, only those
    first exposed up to it. Goals whose values were not counted are left out, as those of results of earlier
    versions.
    """
    columns = set(read_columns(cursor, experiment_id)) if goals else ()
    counted = [goal for goal in goals if goal.column in columns]
    if not counted:
        return NO_EXTREMES
    found = (part for goal in counted for part in _extremes(goal, columns, most, last_days.get(goal.place)))
    rows = fetch_frame(
        cursor,
        f"""
        SELECT variant, {", ".join(found)} FROM {result_table("visitors", experiment_id)}
        WHERE variant < {variants:d} AND {segment_condition(cursor, experiment_id, segment)}
        GROUP BY variant ORDER BY variant
        """,
    )
    places = [goal.place for goal in counted]
    return Extremes(
        counts=_long(rows, places, _COUNTS),
        visitors=pl.concat(_visitors(rows, places, name, number) for number, name in enumerate(_LISTS)),
    )


def _extremes(goal: SummedGoal, columns: Collection[str], most: int, last_day: int | None) -> Iterator[str]:
    # A FILTER, or a column that is null throughout, costs several times what the aggregate does.
    before = f"g{goal.place}_before"
    has_denominator = goal.orders_column in columns
    visitor = (
        f"struct_pack(value := {goal.column}, denominator :="
        f" {goal.orders_column if has_denominator else 'NULL::BIGINT'},"
        f" before := {before if before in columns else 'NULL::BIGINT'})"
    )
    value, denominator = (
        name if last_day is None else f"CASE WHEN first_day <= {last_day:d} THEN {name} END"
        for name in (goal.column, goal.orders_column)
    )
    parts = {
        "largest": f"max({value})",
        "nonzero": f"count_if({value} <> 0)",
        "with_denominator": f"count_if({denominator} > 0)" if has_denominator else "0",
        "by_value": f"max_by({visitor}, abs({value}), {most:d})",
        "by_denominator": f"max_by({visitor}, {denominator}, {most:d})" if has_denominator else "NULL",
    }
    return (f"{sql} AS {name}_{goal.place}" for name, sql in parts.items())


def _long(rows: pl.DataFrame, places: Sequence[int], kinds: _Kinds) -> pl.DataFrame:
    """Turn columns such as `largest_3` into one of each kind, a row per goal and variant."""
    cells = pl.DataFrame(
        {
            "variant": [*rows["variant"]] * len(places),
            "goal": [one for one in places for _ in rows["variant"]],
        },
        schema=_CELL,
    )
    return cells.with_columns(
        pl.concat([rows[f"{name}_{place}"].cast(kind) for place in places]).alias(name)
        for name, kind in kinds.items()
    )


def _visitors(rows: pl.DataFrame, places: Sequence[int], name: str, number: int) -> pl.DataFrame:
    lists = _long(rows, places, {name: _VISITORS}).drop_nulls()
    return (
        lists.with_columns(place=pl.int_ranges(pl.col(name).list.len()), list=pl.lit(number))
        .explode(name, "place")
        .unnest(name)
    )
