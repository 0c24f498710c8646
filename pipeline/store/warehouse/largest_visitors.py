"""Largest visitors of each variant on each goal, from visitor rows."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import numpy as np
import polars as pl

from pipeline.store.warehouse.connection import fetch_frame, registered
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import SummedGoal

_CELL: Final = {"variant": pl.UInt8, "goal": pl.UInt8}
_COUNTS: Final = ("largest", "smallest", "largest_denominator", "nonzero", "with_denominator")
_VALUES: Final = ("value", "denominator", "before")
_VISITORS: Final = {**_CELL, "list": pl.Int64, "place": pl.Int64, **dict.fromkeys(_VALUES, pl.Float64)}


def read_extremes(
    visitors: SelectedVisitors, goals: Sequence[SummedGoal], *, last_days: Mapping[int, int]
) -> pl.DataFrame:
    """Find the extremes of goals with values, a row for each `goal` and `variant` with visitors, by position.

    `largest` and `smallest` are values, and `largest_denominator` is that of a denominator, or of orders.
    `nonzero` visitors have a value other than 0, and `with_denominator` ones a denominator above 0. Of goals
    with one of `last_days`, by position, only those first exposed up to it count. Goals whose values were not
    counted are left out, as those of results of earlier versions.
    """
    counted = _counted(visitors, goals)
    found = [sql for goal in counted for sql in _extremes(visitors, goal, last_days.get(goal.place))]
    query = (
        f"SELECT {', '.join(['variant', *found])} FROM {visitors.rows()} GROUP BY variant ORDER BY variant"
    )
    rows = visitors.cursor.execute(query).fetchall() if counted else []
    # Without a visitor whose outcome is known there is no largest one.
    found_of_cells = [[number or 0 for number in row[1:]] for row in rows]
    numbers = np.array(found_of_cells, np.int64).reshape(len(rows) * len(counted), len(_COUNTS))
    cells = list(product((variant for variant, *_ in rows), (goal.place for goal in counted)))
    return pl.DataFrame(cells, _CELL, orient="row").hstack(pl.DataFrame(numbers, list(_COUNTS)))


def read_largest(
    visitors: SelectedVisitors, goals: Sequence[SummedGoal], *, most: int, last_days: Mapping[int, int]
) -> pl.DataFrame:
    """Read the `most` largest visitors of the goals and variants that `read_extremes` finds.

    A row a visitor, with whole numbers: its `value`, `denominator` or orders, and value `before` the first
    exposure, null where they are not counted. Those of `list` 0 have the largest values in size, those of 1
    the largest denominators; `place` counts up from 0, the largest one.
    """
    counted = _counted(visitors, goals)
    # Rows are found by their numbers first: lists of all values take three times as long.
    lists = [
        (goal.place, number, f"max_by(rowid, {size}, {most:d})")
        for goal in counted
        for number, size in enumerate(_sizes(visitors, goal, last_days.get(goal.place)))
    ]
    sql = ", ".join(["variant", *(found for *_, found in lists)])
    rows = visitors.cursor.execute(f"SELECT {sql} FROM {visitors.rows()} GROUP BY variant").fetchall()
    found = [
        (variant, goal, number, place, row)
        for variant, *lists_of_rows in rows
        for (goal, number, _), row_ids in zip(lists, lists_of_rows, strict=True)
        for place, row in enumerate(row_ids or ())
    ]
    schema = {**_CELL, "list": pl.Int64, "place": pl.Int64, "row": pl.Int64}
    return _with_values(visitors, counted, pl.DataFrame(found, schema, orient="row"))


def _with_values(
    visitors: SelectedVisitors, goals: Sequence[SummedGoal], found: pl.DataFrame
) -> pl.DataFrame:
    if found.is_empty():
        return pl.DataFrame(schema=_VISITORS)
    names = [name for goal in goals for name in _columns_of(visitors, goal) if name]
    with registered(visitors.cursor, "sought", found.select("row").unique()):
        query = f"SELECT rowid, {', '.join(names)} FROM {visitors.table} WHERE rowid IN (FROM sought)"
        rows = fetch_frame(visitors.cursor, f"{query} ORDER BY rowid")
    at = np.searchsorted(rows["rowid"].to_numpy(), found["row"].to_numpy())
    # The last column stands for what is not counted.
    table = np.column_stack([rows.drop("rowid").to_numpy(), np.full(rows.height, np.nan)])
    place_of = {name: place for place, name in enumerate(names)}
    columns = {
        goal.place: [place_of.get(name or "", -1) for name in _columns_of(visitors, goal)] for goal in goals
    }
    chosen = np.array([columns[goal] for goal in found["goal"].to_list()])
    return found.drop("row").with_columns(
        pl.Series(name, table[at, chosen[:, number]], nan_to_null=True) for number, name in enumerate(_VALUES)
    )


def _counted(visitors: SelectedVisitors, goals: Sequence[SummedGoal]) -> list[SummedGoal]:
    return [goal for goal in goals if goal.column in visitors.columns]


def _columns_of(visitors: SelectedVisitors, goal: SummedGoal) -> tuple[str | None, ...]:
    """Name the columns of a goal's _VALUES; None where they are not counted."""
    names = (goal.column, goal.orders_column, f"g{goal.place}_before")
    return tuple(name if name in visitors.columns else None for name in names)


def _sizes(visitors: SelectedVisitors, goal: SummedGoal, last_day: int | None) -> Iterator[str]:
    """Yield the SQL of the size of a visitor's value, and of its denominator where there is one."""
    value, denominator, _ = _columns_of(visitors, goal)
    for sql in (f"abs({value})", *([denominator] if denominator else [])):
        # A FILTER costs several times what the aggregate does.
        yield sql if last_day is None else f"CASE WHEN first_day <= {last_day:d} THEN {sql} END"


def _extremes(visitors: SelectedVisitors, goal: SummedGoal, last_day: int | None) -> Iterator[str]:
    value, denominator = (
        name if name is None or last_day is None else f"CASE WHEN first_day <= {last_day:d} THEN {name} END"
        for name in _columns_of(visitors, goal)[:2]
    )
    yield f"max({value})"
    yield f"min({value})"
    yield f"max({denominator})" if denominator else "0"
    yield f"count_if({value} <> 0)"
    yield f"count_if({denominator} > 0)" if denominator else "0"
