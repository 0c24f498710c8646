"""Largest visitors in evidence: in the units of their goals, with the caps of the goals."""

from dataclasses import replace

import numpy as np
import polars as pl

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.largest_visitors import MOST, LargestVisitors
from engine.design.experiment import Experiment
from engine.measures.sums import unit_of
from engine.stats.arrays import IntArray
from pipeline.store.warehouse.largest_visitors import Extremes


def with_extremes(
    experiment: Experiment, evidence: Evidence, extremes: Extremes, *, in_segment: bool
) -> Evidence:
    """Add the largest visitors to the evidence, and the visitors with a denominator; in a segment of ratios.

    `extremes` are at the positions of the experiment; values have the caps of the evidence.
    """
    goals = experiment.goals
    shape = len(goals), len(experiment.variants)
    largest = _largest(experiment, evidence, extremes.visitors)
    cells = extremes.counts["goal"].to_numpy(), extremes.counts["variant"].to_numpy()

    def by_cell(name: str) -> IntArray:
        found = np.zeros(shape, np.int64)
        found[cells] = extremes.counts[name].to_numpy()
        return found

    is_there = np.zeros(shape, bool)
    is_there[cells] = True
    is_ratio = is_there & np.array(
        [[one.divided_by is not None or one.measure.is_per_order] for one in goals]
    )
    is_money = np.array([[one.unit == "cents"] for one in goals])
    if evidence.values is not None:
        orders = np.nan_to_num(largest.denominator[..., MOST:]).max(axis=-1)
        values = replace(
            evidence.values,
            nonzero=np.where(is_ratio, by_cell("nonzero"), evidence.values.nonzero),
            largest_orders=np.where(is_ratio, orders, evidence.values.largest_orders),
        )
        evidence = replace(evidence, values=values)
    if in_segment:
        return evidence
    return replace(
        evidence,
        largest_cents=np.where(is_money, by_cell("largest").clip(0), 0) if is_money.any() else None,
        largest=largest,
        with_denominator=np.where(is_ratio, by_cell("with_denominator"), evidence.visitors),
    )


def _largest(experiment: Experiment, evidence: Evidence, visitors: pl.DataFrame) -> LargestVisitors:
    """Arrange visitors by goal and variant, in units of their values and denominators, with caps."""
    found = LargestVisitors.none(len(experiment.goals), len(experiment.variants))
    row, column = visitors["goal"].to_numpy(), visitors["variant"].to_numpy()
    place = (MOST * visitors["list"] + visitors["place"]).to_numpy()
    unit, unit_of_orders = (
        np.array([unit_of(name) or 1 for name in names])[row]
        for names in zip(*((goal.summed, goal.divided_by) for goal in experiment.goals), strict=True)
    )
    cap = np.inf if evidence.values is None else np.nan_to_num(evidence.values.caps, nan=np.inf)[row]
    limits = {"value": (unit, cap), "denominator": (unit_of_orders, np.inf), "before": (unit, cap)}
    for name, (one, limit) in limits.items():
        numbers = visitors[name].cast(pl.Float64).to_numpy() / one
        getattr(found, name)[row, column, place] = np.minimum(numbers, limit)
    return found
