"""Rows of a statement as sums by day, variant, goal and segment, and as products of values."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import polars as pl

from engine.design.experiment import Experiment
from engine.local_days import from_epoch_days
from pipeline.events.attributes import UNKNOWN_CLIENT, segments_of
from pipeline.results.outside.outside_sums import CELLS, PRODUCTS
from pipeline.rollup.counting_rules import SEVERAL_VARIANTS
from pipeline.store.event_columns import EVENT_DIMENSIONS, OTHER
from pipeline.store.warehouse.aggregates import EVERYONE, SINCE_EXPOSURE, SUMS
from pipeline.store.warehouse.segment_dimensions import CUSTOM_PREFIX
from pipeline.warehouse.statement import Statement
from pipeline.warehouse.sum_parts import Label

Row = Sequence[Any]
"""A row of an answer: experiment, kind, dimension, value, variant, goal, day, and the numbers."""
_CELL: Final = ("dimension", "value", "variant", "goal", "sum", "day")
_SEVERAL: Final = "several_variants"
_DAY_OF_WEEK: Final = "day_of_week"


@dataclass(frozen=True, slots=True)
class CountedSums:
    """Sums of an experiment: `cells` by day and segment, and `products` of the values of visitors.

    They have columns of `pipeline.results.outside.outside_sums`.
    """

    cells: pl.DataFrame
    products: pl.DataFrame


def read_sums(statement: Statement, rows: Iterable[Row]) -> list[CountedSums]:
    """Read the rows of a statement as the sums of each of its experiments."""
    found: list[list[Row]] = [[] for _ in statement.experiments]
    for row in rows:
        found[int(row[0])].append(row)
    return [_read(statement, number, own) for number, own in enumerate(found)]


def _read(statement: Statement, experiment: int, rows: Iterable[Row]) -> CountedSums:
    """Read the rows of an experiment by its number; segment values are read as those of events are."""
    cells: dict[tuple[Any, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    products: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    names = _Names(statement.experiments[experiment], statement.dimensions)
    for _, kind, dimension, value, variant, goal, day, *numbers in rows:
        segment = names.segment(kind, int(dimension), value)
        if segment is None:
            continue
        where = (*segment, names.variant(int(variant)))
        when = from_epoch_days(int(day))
        labels = statement.labels[experiment, kind, None if goal is None else int(goal)]
        for label, number in zip(labels, numbers, strict=False):
            if number is None or not int(number):
                continue
            if kind == "cap":
                products["", "", None, names.goal(label), None, "cap"][1] = int(number)
            elif kind == "products":
                product = products[(*where, names.goal(label), when, label.number)]
                product[0 if label.is_high else 1] += int(number)
            else:
                cells[(*where, names.goal(label), label.sum, when)][label.number] += int(number)
    return CountedSums(_cells(cells), _products(products))


@dataclass(frozen=True, slots=True)
class _Names:
    """Names of the numbers in rows."""

    experiment: Experiment
    dimensions: tuple[str, ...]

    def segment(self, kind: str, dimension: int, value: object) -> tuple[str, str] | None:
        """Name a dimension and a value of it; None for a value that no segment has."""
        if kind == "since":
            return SINCE_EXPOSURE, str(value)
        if dimension < 0:
            return EVERYONE, EVERYONE
        return segment_of(self.dimensions[dimension], value)

    def variant(self, number: int) -> str:
        return _SEVERAL if number == SEVERAL_VARIANTS else self.experiment.variants[number].id

    def goal(self, label: Label) -> str | None:
        return None if label.place is None else self.experiment.goals[label.place].id


def dimension_of(column: str) -> str:
    """Name the dimension of a column of exposures."""
    is_known = column in EVENT_DIMENSIONS or column == _DAY_OF_WEEK
    return column if is_known else CUSTOM_PREFIX + column


def segment_of(column: str, value: object) -> tuple[str, str] | None:
    """Return the dimension and the segment of a value; None where it is empty or none of the dimension."""
    if value is None or value == "":
        return None
    name = dimension_of(column)
    if value == OTHER:
        return name, OTHER
    if name == _DAY_OF_WEEK:
        return name, str(value)
    read = segments_of({column: value}, None, UNKNOWN_CLIENT, is_user=False).columns()
    if name in EVENT_DIMENSIONS:
        return None if read[name] is None else (name, read[name])
    found = msgspec.json.decode(read["custom"]).get(column) if read["custom"] else None
    return None if found is None else (name, found)


def _cells(found: Mapping[tuple[Any, ...], Mapping[str, int]]) -> pl.DataFrame:
    schema = {name: CELLS[name] for name in (*_CELL, *SUMS)}
    rows = [(*cell, *(numbers.get(name, 0) for name in SUMS)) for cell, numbers in found.items()]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _products(found: Mapping[tuple[Any, ...], Sequence[int]]) -> pl.DataFrame:
    rows = [(*cell, *parts) for cell, parts in found.items()]
    return pl.DataFrame(rows, schema=PRODUCTS, orient="row")
