"""Amounts of goals with a measure that sums them up: moments and totals by day, from their sums."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from engine.analysis.evidence.visitor_values import no_pairs
from engine.design.experiment import Experiment
from engine.measures.sums import AMOUNT, DENOMINATOR, MINUS, PLUS, Sum, unit_of
from engine.stats.arrays import AnyArray, FloatArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from pipeline.results.exact_sums import COHORT, Place, paired_moments


def have_amounts(experiment: Experiment) -> bool:
    """Tell whether some goal of the experiment has amounts."""
    return any(goal.summed is not None for goal in experiment.goals)


def have_ratios(experiment: Experiment) -> bool:
    """Tell whether some goal of the experiment is a ratio."""
    return any(goal.divided_by is not None for goal in experiment.goals)


def with_amounts(experiment: Experiment, others: Moments, amounts: Moments) -> Moments:
    """Take the moments of `amounts` in units of the measure, and of `others` for goals without amounts.

    Both have the goals along the last axis but one.
    """
    units = _units(experiment)[:, None]
    has = units > 0
    return Moments.where(has, amounts.divide(np.where(has, units, 1.0)), others)


def ratios_from(
    experiment: Experiment,
    cells: pl.DataFrame,
    n: AnyArray,
    place: Callable[[pl.DataFrame], Place],
    *,
    cohort: str = COHORT,
) -> PairedMoments:
    """Take the moments of the denominators x and the numerators y of ratios, in units of their measures.

    `n` has the number of visitors and the shape of the result, goals along the last axis but one. `place`
    returns the place of each row of `cells`, whose columns of sums begin with `cohort`. Other goals have no
    pairs.
    """
    if not have_ratios(experiment):
        return no_pairs(n.shape)
    x, y, plus, minus = (
        (found, place(found))
        for found in (cells_of(cells, one) for one in (DENOMINATOR, AMOUNT, PLUS, MINUS))
    )
    below = np.array([unit_of(goal.divided_by) or 0 for goal in experiment.goals], np.float64)[:, None]
    is_ratio = below > 0
    above = np.where(is_ratio, _units(experiment)[:, None], 1.0)
    pairs = paired_moments(n, x, y, plus, minus, cohort=cohort)
    pairs = pairs.divide_each(np.where(is_ratio, below, 1.0), above)
    return PairedMoments.where(is_ratio, pairs, no_pairs(n.shape))


def cells_of(cells: pl.DataFrame, one: Sum) -> pl.DataFrame:
    """Select the cells of a sum."""
    return cells.filter(pl.col("sum") == one.name)


def in_units(experiment: Experiment, totals: IntArray) -> FloatArray:
    """Convert totals of amounts, (…, goals, variants), to units of the measure; NaN for other goals."""
    return _in_units(totals, [unit_of(goal.summed) for goal in experiment.goals])


def in_units_of_denominators(experiment: Experiment, totals: IntArray) -> FloatArray:
    """Convert totals of denominators in the same way; NaN for goals that are no ratio."""
    return _in_units(totals, [unit_of(goal.divided_by) for goal in experiment.goals])


def _in_units(totals: IntArray, units: Sequence[int | None]) -> FloatArray:
    return np.asarray(totals / np.array([unit or np.nan for unit in units], np.float64)[:, None])


def _units(experiment: Experiment) -> FloatArray:
    """Return the integer that stands for 1 of each goal; 0 for goals without amounts."""
    return np.array([unit_of(goal.summed) or 0 for goal in experiment.goals], np.float64)
