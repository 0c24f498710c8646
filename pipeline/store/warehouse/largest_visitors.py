"""Extremes of the visitors of a segment, or of units, by variant and goal."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import numpy as np
import polars as pl

from pipeline.store.warehouse.extremes import columns_of
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import SummedGoal

_CELL: Final = {"variant": pl.UInt8, "goal": pl.UInt8}
_COUNTS: Final = ("largest", "smallest", "largest_denominator", "nonzero", "with_denominator")


def read_extremes(
    visitors: SelectedVisitors, goals: Sequence[SummedGoal], *, last_days: Mapping[int, int]
) -> pl.DataFrame:
    """Find the extremes of goals with values, a row for each `goal` and `variant` with visitors, by position.

    `largest` and `smallest` are values, and `largest_denominator` is that of a denominator, or of orders.
    `nonzero` visitors have a value other than 0, and `with_denominator` ones a denominator above 0. Of goals
    with one of `last_days`, by position, only those first exposed up to it count. Goals whose values were not
    counted are left out, as those of results of earlier versions.
    """
    counted = [goal for goal in goals if columns_of(goal, visitors.columns)[0] in visitors.columns]
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


def _extremes(visitors: SelectedVisitors, goal: SummedGoal, last_day: int | None) -> Iterator[str]:
    value, denominator = (
        name if name is None or last_day is None else f"CASE WHEN first_day <= {last_day:d} THEN {name} END"
        for name in columns_of(goal, visitors.columns)[:2]
    )
    yield f"max({value})"
    yield f"min({value})"
    yield f"max({denominator})" if denominator else "0"
    yield f"count_if({value} <> 0)"
    yield f"count_if({denominator} > 0)" if denominator else "0"
