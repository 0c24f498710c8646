"""Amounts of goals with a measure that sums them up: moments and totals by day, from their sums."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from engine.analysis.evidence.visitor_values import no_pairs
from engine.design.experiment import Experiment
from engine.stats.arrays import AnyArray, FloatArray, IntArray
from engine.stats.moments import Moments, PairedMoments
from pipeline.results.exact_sums import Place, paired_moments
from pipeline.rollup.goals.goal_money import unit_of_amounts, unit_of_denominators
from pipeline.store.warehouse.visitors import AMOUNTS, DENOMINATORS, PAIRS


def have_amounts(experiment: Experiment) -> bool:
    """Tell whether some goal of the experiment has amounts."""
    return any(unit_of_amounts(goal) is not None for goal in experiment.goals)


def have_ratios(experiment: Experiment) -> bool:
    """Tell whether some goal of the experiment is a ratio."""
    return any(goal.measure == "ratio" for goal in experiment.goals)


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
    prefix: str,
) -> PairedMoments:
    """Take the moments of the denominators x and the numerators y of ratios, in units of their measures.

    `n` has the number of visitors and the shape of the result, goals along the last axis but one. `place`
    returns the place of each row of `cells`, whose columns of sums begin with `prefix`. Other goals have no
    pairs.
    """
    if not have_ratios(experiment):
        return no_pairs(n.shape)
    x, y, both = (
        (found, place(found)) for found in (_numbered(cells, base) for base in (DENOMINATORS, AMOUNTS, PAIRS))
    )
    below = np.array([unit_of_denominators(goal) or 0 for goal in experiment.goals], np.float64)[:, None]
    is_ratio = below > 0
    above = np.where(is_ratio, _units(experiment)[:, None], 1.0)
    pairs = paired_moments(n, x, y, both, prefix).divide_each(np.where(is_ratio, below, 1.0), above)
    return PairedMoments.where(is_ratio, pairs, no_pairs(n.shape))


def amount_cells(cells: pl.DataFrame) -> pl.DataFrame:
    """Select the sums of amounts, of numerators in ratios, with the goals that they are of."""
    return _numbered(cells, AMOUNTS)


def denominator_cells(cells: pl.DataFrame) -> pl.DataFrame:
    """Select the sums of denominators, with the goals that they are of."""
    return _numbered(cells, DENOMINATORS)


def in_units(experiment: Experiment, totals: IntArray) -> FloatArray:
    """Convert totals of amounts, (…, goals, variants), to units of the measure; NaN for other goals."""
    return _in_units(totals, [unit_of_amounts(goal) for goal in experiment.goals])


def in_units_of_denominators(experiment: Experiment, totals: IntArray) -> FloatArray:
    """Convert totals of denominators in the same way; NaN for goals that are no ratio."""
    return _in_units(totals, [unit_of_denominators(goal) for goal in experiment.goals])


def _in_units(totals: IntArray, units: Sequence[int | None]) -> FloatArray:
    return np.asarray(totals / np.array([unit or np.nan for unit in units], np.float64)[:, None])


def _numbered(cells: pl.DataFrame, base: int) -> pl.DataFrame:
    """Select the sums of the columns that are numbered from `base`, by goal."""
    found = cells.filter(pl.col("goal").is_between(base, base + PAIRS - 1))
    return found.with_columns((pl.col("goal") - base).alias("goal"))


def _units(experiment: Experiment) -> FloatArray:
    """Return the integer that stands for 1 of each goal; 0 for goals without amounts."""
    return np.array([unit_of_amounts(goal) or 0 for goal in experiment.goals], np.float64)
