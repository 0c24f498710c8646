"""Outcomes of visitors by key, to find those who are in several experiments."""

from typing import NamedTuple

import polars as pl

from pipeline.store.warehouse.connection import fetch_frame
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import SummedGoal


class KeyPart(NamedTuple):
    """Visitors whose key leaves `number` when it is divided by `parts`."""

    number: int
    parts: int

    @property
    def condition(self) -> str:
        """SQL of these visitors."""
        return f"visitor_key % {self.parts:d} = {self.number:d}"


def count_visitors(visitors: SelectedVisitors) -> int:
    """Count the visitors of variants."""
    query = f"SELECT count(*) FROM {visitors.rows()}"
    return int(visitors.cursor.execute(query).fetchall()[0][0])


def read_keys(visitors: SelectedVisitors, part: KeyPart) -> pl.Series:
    """Read the keys of visitors of variants."""
    query = f"SELECT visitor_key FROM {visitors.rows()} AND {part.condition}"
    return fetch_frame(visitors.cursor, query)["visitor_key"]


def read_outcomes(
    visitors: SelectedVisitors, goal: SummedGoal, part: KeyPart, *, is_ratio: bool, last_day: int | None
) -> pl.DataFrame:
    """Read the `visitor_key`, `variant` and value `y` of a goal, with the denominator `d` of a ratio.

    `is_known` tells whether the visitor was first exposed up to `last_day`, where there is one.
    """
    value = goal.column or f"g{goal.place:d}_at IS NOT NULL"
    denominator = f", {goal.orders_column}::DOUBLE AS d" if is_ratio else ""
    known = "true" if last_day is None else f"first_day <= {last_day:d}"
    return fetch_frame(
        visitors.cursor,
        f"""
        SELECT visitor_key, variant, ({value})::DOUBLE AS y{denominator}, {known} AS is_known
        FROM {visitors.rows()} AND {part.condition}
        """,
    )
