"""Sums over the visitors of each unit, such as an account, in experiments that compare these."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import polars as pl

from pipeline.store.warehouse.connection import Cursor, fetch_frame
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import SummedGoal
from pipeline.store.warehouse.visitors import UNIT_KEY, mixed_units

_TABLE: Final = "sums_of_units"
# Sums of a goal by unit: of visitors n, values y, orders or the denominator d, values before z, and products.
SUMS: Final = ("n", "y", "d", "z", "yy", "dy", "dd")


class MixedUnits(NamedTuple):
    """Units that were seen in several variants, and their visitors."""

    units: int
    visitors: int


def count_mixed_units(visitors: SelectedVisitors) -> MixedUnits:
    """Count the units of several variants with selected visitors, and these."""
    rows = visitors.cursor.execute(
        f"""
        SELECT count(DISTINCT {UNIT_KEY}), count(*) FROM {visitors.table}
        WHERE {UNIT_KEY} IN (FROM {mixed_units(visitors.cursor, visitors.experiment_id)})
          AND {visitors.selection}
        """
    ).fetchall()
    return MixedUnits(*rows[0])


@dataclass(frozen=True, slots=True)
class UnitSums:
    """Sums by unit of goals, in a temporary table of the `cursor`'s transaction."""

    cursor: Cursor

    @classmethod
    @contextmanager
    def open(
        cls, visitors: SelectedVisitors, goals: Sequence[SummedGoal], *, last_days: Mapping[int, int]
    ) -> Iterator[Self]:
        """Sum up visitors.

        Of goals with one of `last_days`, by position, only those first exposed up to it.
        """
        sums = [part for goal in goals for part in _sums(goal, visitors.columns, last_days.get(goal.place))]
        cursor = visitors.cursor
        cursor.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE {_TABLE} AS
            SELECT variant, {UNIT_KEY}, count(*) AS visitors{"".join(f", {one}" for one in sums)}
            FROM {visitors.rows()} GROUP BY ALL
            """
        )
        try:
            yield cls(cursor)
        finally:
            cursor.execute(f"DROP TABLE {_TABLE}")

    def count(self) -> dict[int, int]:
        """Count the units by variant."""
        return dict(
            self.cursor.execute(f"SELECT variant, count(*) FROM {_TABLE} GROUP BY variant").fetchall()
        )

    def of_goal(self, place: int) -> pl.DataFrame:
        """Read the SUMS of a goal, a row per unit of a `variant` with a visitor whose outcome is known."""
        names = ", ".join(f"{name}_{place:d}::DOUBLE AS {name}" for name in SUMS)
        query = f"SELECT variant, {names} FROM {_TABLE} WHERE n_{place:d} > 0 ORDER BY variant, {UNIT_KEY}"
        return fetch_frame(self.cursor, query)

    def mean_before(self, place: int) -> float:
        """Return the mean of all visitors' values before the first exposure; 0 without visitors."""
        query = f"SELECT coalesce(sum(all_z_{place:d}) / sum(visitors), 0) FROM {_TABLE}"
        return float(self.cursor.execute(query).fetchall()[0][0])


def _sums(goal: SummedGoal, columns: Collection[str], last_day: int | None) -> Iterator[str]:
    place = goal.place
    known = "" if last_day is None else f" FILTER (first_day <= {last_day:d})"
    y = goal.column or f"(g{place}_at IS NOT NULL)::BIGINT"
    d = goal.orders_column if goal.orders_column in columns else None
    z = f"g{place}_before" if f"g{place}_before" in columns else None
    yield f"count(*){known} AS n_{place}"
    yield f"sum({y}){known} AS y_{place}"
    # The square of 1 or 0 is itself.
    yield f"sum({y if goal.column is None else f'{y}::HUGEINT * {y}'}){known} AS yy_{place}"
    yield (
        f"0 AS d_{place}, 0 AS dy_{place}, 0 AS dd_{place}"
        if d is None
        else (
            f"sum({d}){known} AS d_{place}, sum({d}::HUGEINT * {y}){known} AS dy_{place}, "
            f"sum({d}::HUGEINT * {d}){known} AS dd_{place}"
        )
    )
    yield (
        f"0 AS z_{place}, 0 AS all_z_{place}"
        if z is None
        else (f"sum({z}){known} AS z_{place}, sum({z}) AS all_z_{place}")
    )
