"""Covariates of goals in a DataFrame: numbers and categories, as the columns of a design matrix."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from engine.analysis.evidence.visitor_values import VisitorValues
from engine.errors import InvalidEvidenceError
from engine.stats.arrays import FloatArray
from engine.stats.covariates import CovariateMoments, index_slopes
from engine.stats.paired_moments import PairedMoments

# Categories with the most visitors that have a column of their own; the others share one.
MOST_CATEGORIES = 50
# The correlation of copies, but for rounding.
_COPY = 1.0 - 1e-9
# Visitors that must carry a goal's variance before a correlation of 1 is no accident.
_FEW = 10


def design_matrix(arms: Sequence[pl.DataFrame], goal: int) -> list[FloatArray]:
    """Build the covariates of a goal, a matrix of visitors by columns for each arm; empty without any.

    From the columns `before_<goal>_<k>`. A number that is not known is the mean of those that are, with a
    column of its own that flags it: whether it is known was settled before the first exposure, White and
    Thompson (2005), Statistics in Medicine 24. A category is 1 or 0, of all but the most frequent one; an
    unknown category is one too.
    """
    names = [name for name in arms[0].columns if name.startswith(f"before_{goal}_")]
    if not names:
        return []
    together = pl.concat([arm.select(names) for arm in arms])
    columns = [column for name in names for column in _columns(together[name])]
    matrix = np.column_stack(columns) if columns else np.zeros((together.height, 0))
    return np.split(matrix, np.cumsum([arm.height for arm in arms])[:-1])


def common_categories(counts: pl.DataFrame) -> pl.Series:
    """List the categories with columns of their own, the most frequent one first, which needs none.

    `counts` has each `value`, null for an unknown one, with its `count`.
    """
    return counts.sort("count", "value", descending=[True, False])["value"].head(MOST_CATEGORIES)


def _columns(values: pl.Series) -> Iterator[FloatArray]:
    if values.dtype == pl.String:
        yield from _categories(values)
        return
    unknown = values.is_null()
    if unknown.all():
        return
    yield values.fill_null(values.mean()).to_numpy()
    if unknown.any():
        yield unknown.cast(pl.Float64).to_numpy()


def _categories(values: pl.Series) -> Iterator[FloatArray]:
    """Yield a column of ones and zeros for every category but the most frequent one."""
    common = common_categories(values.alias("value").value_counts())
    is_common = values.is_in(common, nulls_equal=True)
    for category in common.to_list()[1:]:
        yield values.eq_missing(pl.Series([category], dtype=pl.String)).cast(pl.Float64).to_numpy()
    if not is_common.all():
        yield (~is_common).cast(pl.Float64).to_numpy()


def index_by_visitor(
    x: Sequence[FloatArray], values: Sequence[FloatArray], orders: Sequence[FloatArray]
) -> tuple[list[FloatArray], int]:
    """Compute the index of the covariates that explains the goal best, of the visitors of each arm.

    Of a ratio, `values` over `orders`, it explains the linearized ratio. Returns the number of slopes
    besides; `orders` is empty where the goal is no ratio.
    """
    moments = CovariateMoments.of(x, values)
    if orders:
        pairs = PairedMoments.stack([PairedMoments.of(*each) for each in zip(orders, values, strict=True)])
        theta, rank = index_slopes(moments, CovariateMoments.of(x, orders), pairs)
    else:
        theta, rank = index_slopes(moments)
    return [each @ theta for each in x], rank


def require_no_copies(values: VisitorValues | None, goals: Sequence[str]) -> None:
    """Raise InvalidEvidenceError for a goal that its covariates explain to the last digit.

    Such as the goal in another unit: what is left after the adjustment would be rounding, and every
    difference of it significant. A goal that hardly any visitors reach may be explained by accident: k of
    them with the same number have m3² = m2³ / k.
    """
    if values is None:
        return
    n, m2_x, m2_y, co, m3_y = (
        getattr(values.before, name).sum(axis=-1) for name in ("n", "m2_x", "m2_y", "co", "m3_y")
    )
    slopes = np.maximum(values.index_slopes, 1.0)
    is_known = (m2_x > 0) & (m2_y > 0) & (n - values.before.n.shape[-1] - slopes >= _FEW)
    deviation = np.where(is_known, np.sqrt(m2_y), 1.0)
    correlation = co / np.where(is_known, np.sqrt(m2_x), 1.0) / deviation
    is_common = _FEW * (m3_y / deviation**3) ** 2 <= 1.0
    for goal in np.flatnonzero(is_known & is_common & (np.abs(correlation) >= _COPY)).tolist():
        raise InvalidEvidenceError(
            f"the covariates of {goals[goal]!r} explain it to the last digit, as a copy of it would; a "
            "covariate is known before the first exposure"
        )
