"""Covariates of goals from sums: categories and the pre-period, and the index that explains a goal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from engine.analysis.evidence.visitor_values import VisitorValues
from engine.design.analysis_settings import PRE_PERIOD
from engine.design.experiment import Experiment
from engine.frames.covariates import common_categories
from engine.measures.sums import unit_of
from engine.stats.arrays import FloatArray
from engine.stats.covariates import CovariateMoments, index_slopes
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments
from pipeline.rollup.goals.summed_goals import attributes_of
from pipeline.store.warehouse.category_sums import (
    PRODUCTS,
    CategorizedVisitors,
    CategorySums,
    GoalIndex,
    GoalSums,
)
from pipeline.store.warehouse.selected_visitors import SelectedVisitors
from pipeline.store.warehouse.value_sums import SummedGoal


@dataclass(frozen=True, slots=True)
class Categories:
    """Columns of ones and zeros, one of every category but the first of each covariate, in V variants.

    `sizes` are the numbers of categories. `n` (V,) visitors, `visitors` (V, K) those with a one in each
    column, `both` (V, K, K) those with a one in each of two, and by goal, by position, the GoalSums of those
    with a one, (V, K) each.
    """

    sizes: Sequence[int]
    n: FloatArray
    visitors: FloatArray
    both: FloatArray
    sums: Mapping[int, GoalSums[FloatArray]]

    @classmethod
    def of(cls, found: CategorySums, variants: Sequence[int | None], rows: int) -> Self:
        """Arrange sums by so many variants and by column.

        `variants` has the row of each variant counted, None for one to leave out.
        """
        ends = np.cumsum([max(size - 1, 0) for size in found.sizes]).astype(int).tolist()
        # The first category of a covariate has the number before its columns, which is not filled.
        first = [start - 1 for start in (0, *ends)]
        shape, goals = (rows, ends[-1]), {goal for cell in found.cells for goal in cell.sums}
        n, visitors, both = np.zeros(rows), np.zeros(shape), np.zeros((*shape, shape[1]))
        sums = {goal: GoalSums(*(np.zeros(shape) for _ in GoalSums._fields)) for goal in goals}
        for cell in found.cells:
            row, column = variants[cell.variant], first[cell.covariate] + cell.category
            if row is None:
                continue
            n[row] += cell.visitors if cell.covariate == 0 else 0
            if cell.category:
                visitors[row, column] = both[row, column, column] = cell.visitors
                for goal, added in cell.sums.items():
                    for array, each in zip(sums[goal], added, strict=True):
                        array[row, column] = each
        for pair in found.pairs:
            row = variants[pair.variant]
            if row is not None and all(pair.categories):
                places = zip(pair.covariates, pair.categories, strict=True)
                one, other = (first[covariate] + category for covariate, category in places)
                both[row, one, other] = both[row, other, one] = pair.visitors
        return cls(found.sizes, n, visitors, both, sums)

    def by_covariate(self, weights: FloatArray) -> list[list[float]]:
        """Split numbers of the columns by covariate, with 0 for the first category of each."""
        ends = np.cumsum([max(size - 1, 0) for size in self.sizes])[:-1]
        parts = np.split(weights, ends)
        return [[0.0, *map(float, part)] for part in parts]

    @property
    def mean(self) -> FloatArray:
        """The share of visitors with a one in each column, (V, K)."""
        return np.asarray(self.visitors / np.maximum(self.n, 1.0)[:, None])

    def products(self, totals: FloatArray, mean: FloatArray) -> FloatArray:
        """Centre the products of each column, (V, K), with a value: its totals by column, and its mean."""
        return np.asarray(totals - self.visitors * mean[:, None])


def with_indexes(  # noqa: PLR0913  # the rest is said by name
    visitors: SelectedVisitors,
    experiment: Experiment,
    values: VisitorValues,
    summed: Sequence[SummedGoal],
    *,
    variants: Sequence[str],
    goals: Sequence[str],
    last_day: int | None,
) -> VisitorValues:
    """Replace the pre-period of the `summed` goals by the index of all covariates that explains each best.

    Unchanged without attributes among the covariates. `variants` and `goals` are the counted ids by position.
    Slopes follow from sums, and the products of the index and the outcomes from the rows of visitors.
    """
    attributes = attributes_of(experiment)
    if not attributes or not summed:
        return values
    rows = {one.id: row for row, one in enumerate(experiment.variants)}
    places = [rows.get(one) for one in variants]
    row_of = {one.id: row for row, one in enumerate(experiment.goals)}
    with CategorizedVisitors.open(
        visitors, summed, covariates=attributes, choose=common_categories, last_day=last_day
    ) as categorized:
        found = categorized.read_sums()
        categories = Categories.of(found, places, len(rows))
        explained = {
            place: _Explained.of(values[row : row + 1], categories, place, experiment, row)
            for place, row in ((one, row_of[goals[one]]) for one in categories.sums)
        }
        products = categorized.read_products({place: one.index for place, one in explained.items()})
    parts = [values[row : row + 1] for row in range(len(experiment.goals))]
    for place, one in explained.items():
        by_row = {places[variant]: each for (goal, variant), each in products.items() if goal == place}
        parts[one.row] = one.with_products(
            {
                name: np.array([by_row[row][name] if row in by_row else 0.0 for row in range(len(rows))])
                for name in PRODUCTS
            }
        )
    return VisitorValues.concatenate(parts)


@dataclass(frozen=True, slots=True)
class _Explained:
    """A goal, in a row of the experiment, with its `values` alone, its index and the number of its slopes."""

    row: int
    values: VisitorValues
    index: GoalIndex
    slopes: int

    @classmethod
    def of(
        cls, values: VisitorValues, categories: Categories, place: int, experiment: Experiment, row: int
    ) -> Self:
        goal, sums = experiment.goals[row], categories.sums[place]
        unit, unit_of_orders = unit_of(goal.summed) or 1, unit_of(goal.divided_by) or 1
        has_past = PRE_PERIOD in experiment.statistics.covariates and bool(values.before.n.any())
        pasts = (values.before, values.before_orders) if has_past else (None, None)
        of_values, of_orders = (
            _moments(categories, outcome, total / per, past, sums.z / unit)
            for outcome, total, per, past in (
                (values.value, sums.y, unit, pasts[0]),
                (values.orders.x, sums.d, unit_of_orders, pasts[1]),
            )
        )
        ratio = (of_orders, values.orders[0]) if values.orders.n.any() else ()
        theta, rank = index_slopes(of_values, *ratio)
        of_past, of_columns = (theta[0] / unit, theta[1:]) if has_past else (0.0, theta)
        everyone = max(of_values.n.sum(), 1.0)
        centre = (of_values.n * (of_values.mean_x @ theta)).sum() / everyone
        of_value, of_denominator = (
            float((part.n * part.mean).sum() / everyone) for part in (values.value[0], values.orders.x[0])
        )
        index = GoalIndex(
            by_category=categories.by_covariate(of_columns),
            of_past=float(of_past),
            centre=float(centre),
            centres=(of_value, of_denominator),
            units=(unit, unit_of_orders),
        )
        return cls(row, values, index, rank)

    def with_products(self, sums: Mapping[str, FloatArray]) -> VisitorValues:
        """Take the moments of pairs, and of three, from the sums of PRODUCTS by variant."""
        y, orders = self.values.value[0], self.values.orders[0]
        before, b = _paired(sums, y, self.index.centre, self.index.centres[0], "y")
        found = replace(self.values, before=before[None], index_slopes=np.array([float(self.slopes)]))
        if not orders.n.any():
            return found
        d = orders.x
        before_orders, c = _paired(sums, d, self.index.centre, self.index.centres[1], "d")
        a = before.mean_x - self.index.centre
        yd = orders.co + before.n * b * c
        triple = sums["xyd"] - a * yd - b * sums["xd"] - c * sums["xy"] + 2.0 * before.n * a * b * c
        return replace(found, before_orders=before_orders[None], triple=triple[None])


def _paired(
    sums: Mapping[str, FloatArray], outcome: Moments, centre: float, centre_of_outcome: float, name: str
) -> tuple[PairedMoments, FloatArray]:
    """Pair the index with an outcome: from sums about the centres, to the mean of each variant.

    Returns how far the outcome's mean is from its centre, too.
    """
    n = outcome.n
    a = np.divide(sums["x"], n, out=np.zeros(n.shape), where=n > 0)
    b = np.where(n > 0, outcome.mean - centre_of_outcome, 0.0)
    xx, xy = sums["xx"], sums[f"x{name}"]
    yy = outcome.m2 + n * b * b
    pairs = PairedMoments(
        n=n,
        mean_x=np.where(n > 0, a + centre, 0.0),
        mean_y=outcome.mean,
        m2_x=np.maximum(xx - n * a * a, 0.0),
        m2_y=outcome.m2,
        co=xy - n * a * b,
        m3_y=outcome.m3,
        m3_x=sums["xxx"] - 3.0 * a * xx + 2.0 * n * a**3,
        xxy=sums[f"xx{name}"] - b * xx - 2.0 * a * xy + 2.0 * n * a * a * b,
        xyy=sums[f"x{name}{name}"] - a * yy - 2.0 * b * xy + 2.0 * n * a * b * b,
    )
    return pairs, b


def _moments(
    categories: Categories,
    outcome: Moments,
    totals: FloatArray,
    past: PairedMoments | None,
    past_totals: FloatArray,
) -> CovariateMoments:
    """Take the moments of the covariates and an outcome, whose `totals` are by column as those of the past.

    `past` pairs the pre-period with the outcome; both are of one goal, alone.
    """
    y, mean, n = outcome[0], categories.mean, np.maximum(categories.n, 1.0)[:, None, None]
    xx = categories.both - categories.visitors[:, :, None] * categories.visitors[:, None, :] / n
    xy = categories.products(totals, y.mean)
    if past is not None:
        z = past[0]
        with_past = categories.products(past_totals, z.mean_x)[:, :, None]
        corner = z.m2_x[:, None, None]
        xx = np.block([[corner, with_past.swapaxes(1, 2)], [with_past, xx]])
        mean, xy = np.column_stack([z.mean_x, mean]), np.column_stack([z.co, xy])
    return CovariateMoments(categories.n, mean, xx, xy, y)
