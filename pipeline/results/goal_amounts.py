"""Amounts of goals with a measure that sums them up: moments and totals by day, from their sums."""

import numpy as np
import polars as pl

from engine.design.experiment import Experiment
from engine.stats.arrays import FloatArray, IntArray
from engine.stats.moments import Moments
from pipeline.rollup.goal_money import unit_of_amounts
from pipeline.store.warehouse.visitors import AMOUNTS


def have_amounts(experiment: Experiment) -> bool:
    """Tell whether some goal of the experiment has amounts."""
    return any(unit_of_amounts(goal) is not None for goal in experiment.goals)


def with_amounts(experiment: Experiment, others: Moments, amounts: Moments) -> Moments:
    """Take the moments of `amounts` in units of the measure, and of `others` for goals without amounts.

    Both have the goals along the last axis but one.
    """
    units = _units(experiment)[:, None]
    has = units > 0
    return Moments.where(has, amounts.divide(np.where(has, units, 1.0)), others)


def amount_cells(cells: pl.DataFrame) -> pl.DataFrame:
    """Select the sums of amounts, with the goals that they are of."""
    of_amounts = cells.filter(pl.col("goal") >= AMOUNTS)
    return of_amounts.with_columns((pl.col("goal") - AMOUNTS).alias("goal"))


def in_units(experiment: Experiment, totals: IntArray) -> FloatArray:
    """Convert totals of amounts, (…, goals, variants), to units of the measure; NaN for other goals."""
    units = _units(experiment)[:, None]
    return np.asarray(totals / np.where(units > 0, units, np.nan))


def _units(experiment: Experiment) -> FloatArray:
    """Return the integer that stands for 1 of each goal; 0 for goals without amounts."""
    return np.array([unit_of_amounts(goal) or 0 for goal in experiment.goals], np.float64)
