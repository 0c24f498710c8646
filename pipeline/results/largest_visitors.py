"""Largest visitors in evidence: in the units of their goals, with the caps of the goals."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.largest_visitors import MOST, LargestVisitors
from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.experiment import Experiment
from engine.measures.sums import unit_of
from engine.stats.arrays import FloatArray, IntArray
from pipeline.store.warehouse.extremes import DENOMINATORS, HIGHEST, LOWEST, NONZERO, WITH_DENOMINATOR
from pipeline.store.warehouse.value_sums import SummedGoal

_CELL: Final = ("goal", "variant")


def with_extremes(
    experiment: Experiment,
    evidence: Evidence,
    extremes: pl.DataFrame,
    *,
    largest: LargestVisitors | None = None,
    in_segment: bool,
) -> Evidence:
    """Add the largest revenue and denominators, and the visitors with one; in a segment those of ratios.

    `extremes` are those of `read_extremes` or `extremes_of`, at the positions of the experiment, and
    `largest` the visitors of `largest_of`, where they are known.
    """
    shape = len(experiment.goals), len(experiment.variants)
    is_there = _by_cell(extremes.with_columns(there=1), "there", shape) > 0
    is_ratio = is_there & np.array([[goal.measure.is_ratio] for goal in experiment.goals])
    values = evidence.values
    if values is not None:
        denominators = _by_cell(extremes, "largest_denominator", shape) / _units_of_denominators(experiment)
        values = replace(
            values,
            nonzero=np.where(is_ratio, _by_cell(extremes, "nonzero", shape), values.nonzero),
            largest_orders=np.where(is_ratio, denominators, values.largest_orders),
        )
    if in_segment:
        return replace(evidence, values=values)
    is_money = np.array([[one.unit == "cents"] for one in experiment.goals])
    cents = np.where(is_money, _by_cell(extremes, "largest", shape).clip(0), 0)
    with_denominator = _by_cell(extremes, "with_denominator", shape)
    return replace(
        evidence,
        values=values,
        largest_cents=cents if is_money.any() else None,
        largest=largest,
        with_denominator=np.where(is_ratio, with_denominator, evidence.visitors),
    )


def extremes_of(
    kept: pl.DataFrame, goals: Sequence[SummedGoal], last_days: Mapping[int, int]
) -> pl.DataFrame:
    """Take what `read_extremes` finds in all visitor rows from the extremes that are kept."""
    known = kept.filter(pl.col("goal").is_in([goal.place for goal in goals]))
    cells = known.filter(pl.col("kind") == HIGHEST).select(_CELL).unique()
    size = pl.col("size")
    found = (
        _until(known, last_days)
        .group_by(_CELL)
        .agg(
            size.filter(pl.col("kind") == HIGHEST).max().alias("largest"),
            -size.filter(pl.col("kind") == LOWEST).max().alias("smallest"),
            size.filter(pl.col("kind") == DENOMINATORS).max().alias("largest_denominator"),
            *(size.filter(pl.col("kind") == kind).sum().alias(kind) for kind in (NONZERO, WITH_DENOMINATOR)),
        )
    )
    return cells.join(found, on=_CELL, how="left").fill_null(0)


def largest_visitors(
    kept: pl.DataFrame, places: Collection[int], last_days: Mapping[int, int]
) -> pl.DataFrame:
    """List the MOST largest visitors of goals at some places, by variant.

    A row a visitor, with whole numbers: its `value`, `denominator` or orders, and value `before` the first
    exposure, null where they are not counted. Those of `list` 0 have the largest values in size, those of 1
    the largest denominators; `place` counts up from 0, the largest one.
    """
    known = _until(kept.filter(pl.col("goal").is_in(list(places))), last_days)
    in_size = known.filter(pl.col("kind").is_in([HIGHEST, LOWEST])).with_columns(
        pl.col("value").abs().alias("size")
    )
    lists = (in_size.unique([*_CELL, "key"]), known.filter(pl.col("kind") == DENOMINATORS))
    return pl.concat(
        rows.sort("size", "key", descending=[True, False])
        .with_columns(pl.lit(number).alias("list"), pl.int_range(pl.len()).over(_CELL).alias("place"))
        .filter(pl.col("place") < MOST)
        for number, rows in enumerate(lists)
    )


def _until(kept: pl.DataFrame, last_days: Mapping[int, int]) -> pl.DataFrame:
    """Leave out visitors whose outcomes are not known yet."""
    last = pl.col("goal").replace_strict(last_days, default=None, return_dtype=pl.Int32)
    return kept.filter(last.is_null() | pl.col("number").is_null() | (pl.col("number") <= last))


def goals_to_look_into(experiment: Experiment, evidence: Evidence, extremes: pl.DataFrame) -> list[int]:
    """List the goals, by place, on which single visitors may decide a comparison."""
    from engine.analysis.comparison.influence import may_decide  # noqa: PLC0415 - slow, and not needed at a start

    values = VisitorValues.of(evidence.revenue) if evidence.values is None else evidence.values
    smallest, largest, denominator = (
        _by_cell(extremes, name, values.value.n.shape) / unit
        for name, unit in (
            ("smallest", _units(experiment)),
            ("largest", _units(experiment)),
            ("largest_denominator", _units_of_denominators(experiment)),
        )
    )
    flags = may_decide(values, smallest, largest, denominator)
    found: list[int] = np.flatnonzero(flags.any(axis=-1)).tolist()
    return found


def largest_of(experiment: Experiment, evidence: Evidence, visitors: pl.DataFrame) -> LargestVisitors:
    """Arrange `largest_visitors` by goal and variant, in units of the goals, with the caps of values."""
    found = LargestVisitors.none(len(experiment.goals), len(experiment.variants))
    row, column = visitors["goal"].to_numpy(), visitors["variant"].to_numpy()
    place = (MOST * visitors["list"] + visitors["place"]).to_numpy()
    unit, below = _units(experiment)[row, 0], _units_of_denominators(experiment)[row, 0]
    cap = np.inf if evidence.values is None else np.nan_to_num(evidence.values.caps, nan=np.inf)[row]
    limits = {"value": (unit, cap), "denominator": (below, np.inf), "before": (unit, cap)}
    for name, (one, limit) in limits.items():
        getattr(found, name)[row, column, place] = np.minimum(visitors[name].to_numpy() / one, limit)
    return found


def _by_cell(cells: pl.DataFrame, name: str, shape: tuple[int, ...]) -> IntArray:
    found = np.zeros(shape, np.int64)
    found[cells["goal"].to_numpy(), cells["variant"].to_numpy()] = cells[name].to_numpy()
    return found


def _units(experiment: Experiment) -> FloatArray:
    return _column(unit_of(goal.summed) for goal in experiment.goals)


def _units_of_denominators(experiment: Experiment) -> FloatArray:
    return _column(unit_of(goal.divided_by) for goal in experiment.goals)


def _column(units: Iterable[int | None]) -> FloatArray:
    return np.array([[unit or 1] for unit in units], np.float64)
