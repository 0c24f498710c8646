"""Visitors of an experiment by segment and day of first exposure, as queries of their rows select them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.visitors import (
    UNIT_KEY,
    read_columns,
    result_table,
    segment_condition,
    value_condition,
)


@dataclass(frozen=True, slots=True)
class SelectedVisitors:
    """Visitors of an experiment in the transaction of `cursor`.

    `variants` of them were counted. `columns` are those of the rows, of which results of earlier versions
    have fewer, `has_units` where they were counted with their units, and `condition` is the SQL of the rows
    that count. `selection` is that of the segment and the days alone, with those who count for no unit.
    """

    cursor: Cursor
    experiment_id: str
    variants: int
    columns: frozenset[str]
    has_units: bool
    condition: str
    selection: str = "true"

    @classmethod
    def everyone(cls, cursor: Cursor, experiment_id: str, *, variants: int) -> Self:
        """Select all visitors."""
        columns = frozenset(read_columns(cursor, experiment_id))
        has_units = UNIT_KEY in columns
        condition = segment_condition(cursor, experiment_id, {}, has_units=has_units)
        return cls(cursor, experiment_id, variants, columns, has_units, condition)

    def within(self, segment: Mapping[str, str], days: tuple[int | None, int | None] = (None, None)) -> Self:
        """Select those with every value of `segment` who were first exposed on `days` since 1970.

        None for a bound that is open.
        """
        first, last = days
        parts = [
            *([value_condition(self.cursor, self.experiment_id, segment)] if segment else ()),
            *([] if first is None else [f"first_day >= {first:d}"]),
            *([] if last is None else [f"first_day <= {last:d}"]),
        ]
        if not parts:
            return self
        selection = " AND ".join(parts)
        return replace(self, selection=selection, condition=f"{selection} AND {self.condition}")

    @property
    def table(self) -> str:
        """Quoted name of the table of the rows."""
        return result_table("visitors", self.experiment_id)

    def rows(self, last_day: int | None = None) -> str:
        """Build what follows FROM for the rows of variants, first exposed up to `last_day` where given."""
        until = "" if last_day is None else f" AND first_day <= {last_day:d}"
        return f"{self.table} WHERE variant < {self.variants:d} AND {self.condition}{until}"
