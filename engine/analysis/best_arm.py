"""Which of several arms is best, and what choosing another would cost.

Arms run along the last axis of every array, rows along the others. By quadrature, so that the same data
always give the same answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.analysis.moments import BoolArray, FloatArray

_T = TypeVar("_T", bound=np.generic)

# Standard normal positions, in each arm, of the ends of the panels that are integrated one by one.
_EDGES = np.array([-9.0, -7.0, -5.5, -4.5, -3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 7.0, 9.0])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# Nothing is certain to the last bit: logs of probabilities stay finite.
_NEARLY_ONE = 1.0 - 2.0**-53


@dataclass(frozen=True, slots=True)
class Best:
    """`chance` of each arm to have the highest mean, adding up to 1 over a row, and `loss`, its price.

    The loss is E[max of all means - this mean], in the metric's unit: what choosing the arm costs on
    average. NaN for arms about which nothing is known; they compete with nobody.
    """

    chance: FloatArray
    loss: FloatArray


def best_of_shares(hits: npt.ArrayLike, n: npt.ArrayLike, *, prior: tuple[float, float] = (1.0, 1.0)) -> Best:
    """Beta posteriors of conversion rates after `hits` of `n`, with `prior` shapes of at least 1."""
    if min(prior) < 1.0:
        raise ValueError(f"prior shapes are at least 1 (flat is 1 and 1); got {prior}")
    first, visitors = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(n, np.float64))
    a, b = first + prior[0], visitors - first + prior[1]

    def quantile(z: FloatArray) -> FloatArray:
        lower = special.betaincinv(a[..., None], b[..., None], special.ndtr(np.minimum(z, 0.0)))
        upper = special.betainccinv(a[..., None], b[..., None], special.ndtr(-np.maximum(z, 0.0)))
        return np.where(z < 0, lower, upper)

    def log_density(x: FloatArray) -> FloatArray:
        return np.asarray(special.xlogy(_up(a) - 1.0, x) + special.xlog1py(_up(b) - 1.0, -x))

    def beyond(x: FloatArray) -> FloatArray:
        return np.asarray(special.betaincc(_up(a), _up(b), x))

    return _compete(quantile(_EDGES), log_density, beyond, np.ones(a.shape, np.bool_))


def best_of_means(mean: npt.ArrayLike, variance: npt.ArrayLike) -> Best:
    """Normal posteriors of means, such as revenue per visitor, with the variances of the means."""
    centre, spread = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(variance, np.float64))
    known = np.isfinite(centre) & np.isfinite(spread) & (spread > 0)
    # An arm about which nothing is known borrows its numbers from one of its row, and is not asked.
    lender = known.argmax(axis=-1)[..., None]
    centre = np.where(known, centre, np.nan_to_num(np.take_along_axis(centre, lender, axis=-1)))
    spread = np.where(known, spread, np.take_along_axis(np.where(known, spread, 1.0), lender, axis=-1))
    deviation = np.sqrt(spread)

    def log_density(x: FloatArray) -> FloatArray:
        return np.asarray(-0.5 * ((x - _up(centre)) / _up(deviation)) ** 2)

    def beyond(x: FloatArray) -> FloatArray:
        return np.asarray(special.ndtr((_up(centre) - x) / _up(deviation)))

    return _compete(centre[..., None] + deviation[..., None] * _EDGES, log_density, beyond, known)


def _compete(
    edges: FloatArray,
    log_density: Callable[[FloatArray], FloatArray],
    beyond: Callable[[FloatArray], FloatArray],
    known: BoolArray,
) -> Best:
    """Integrate over all panels between the arms' sorted `edges` (arms, then edges, last).

    chance_i = ∫ f_i prod_{j≠i} F_j and loss_i = ∫ F_i (1 - prod_{j≠i} F_j), the latter because the mean of
    a maximum is that of any of its parts plus ∫ (F_part - F_max). Both functions take nodes with an axis
    for arms after them and give one value an arm. Each density is scaled to integrate to 1.
    """
    ends = np.sort(edges.reshape(*edges.shape[:-2], -1), axis=-1)
    half = 0.5 * np.diff(ends)[..., None]
    nodes = (ends[..., :-1, None] + half * (1.0 + _NODES)).reshape(*ends.shape[:-1], -1, 1)
    weights = (half * _WEIGHTS).reshape(nodes.shape)
    log_below = np.where(_up(known), np.log1p(-np.minimum(beyond(nodes), _NEARLY_ONE)), 0.0)
    log_others = log_below.sum(axis=-1, keepdims=True) - log_below
    logs = log_density(nodes)
    density = weights * np.exp(logs - logs.max(axis=-2, keepdims=True))
    chance = (density * np.exp(log_others)).sum(axis=-2) / density.sum(axis=-2)
    loss = (weights * np.exp(log_below) * -np.expm1(log_others)).sum(axis=-2)
    return Best(np.where(known, chance, np.nan), np.where(known, loss, np.nan))


def _up(per_arm: npt.NDArray[_T]) -> npt.NDArray[_T]:
    """Arms stay last; an axis for nodes comes before them."""
    return per_arm[..., None, :]
