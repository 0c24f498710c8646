"""Probability to be best and expected loss of several arms.

Arms run along the last axis of every array, rows along the others. By quadrature, so that the same data
always give the same result.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import BoolArray, FloatArray

# Standard normal positions, in each arm, of the ends of the panels that are integrated one by one.
_EDGES = np.array([-9.0, -7.0, -5.5, -4.5, -3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 7.0, 9.0])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# Keeps logs of probabilities finite.
_NEARLY_ONE = 1.0 - 2.0**-53
# Widths below this share of the largest mean are beyond the precision of numbers.
_RESOLUTION = 1e-12
# A density is negligible beyond this many deviations.
_FAR = 1e3
# Densities per block, to bound the memory.
_AT_ONCE = 2_000_000

# From nodes, with an axis for arms after them, to the log density of each arm up to a constant.
LogDensity = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Best:
    """`chance` of each arm to have the highest mean, adding up to 1 over a row, and its expected `loss`.

    The loss is E[max of all means - this mean], in the metric's unit: the expected cost of choosing the
    arm. NaN for arms without data, which are left out.
    """

    chance: FloatArray
    loss: FloatArray


def best_of_shares(hits: npt.ArrayLike, n: npt.ArrayLike, *, prior: tuple[float, float] = (1.0, 1.0)) -> Best:
    """Compare Beta posteriors of conversion rates after `hits` of `n`, with `prior` shapes of at least 1."""
    if min(prior) < 1.0:
        raise ValueError(f"prior shapes are at least 1 (flat is 1 and 1); got {prior}")
    first, visitors = np.broadcast_arrays(np.asarray(hits, np.float64), np.asarray(n, np.float64))
    return _by_blocks(_shares, first + prior[0], visitors - first + prior[1])


def best_of_means(mean: npt.ArrayLike, variance: npt.ArrayLike) -> Best:
    """Compare normal posteriors of means, such as revenue per visitor, with the variances of the means."""
    centre, spread = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(variance, np.float64))
    return _by_blocks(_means, centre, spread)


def _shares(a: FloatArray, b: FloatArray) -> Best:
    """Compare rows of Beta(a, b). Panels are on the log odds, which are more nearly normal."""
    centre = scipy.special.digamma(a) - scipy.special.digamma(b)
    deviation = np.sqrt(scipy.special.polygamma(1, a) + scipy.special.polygamma(1, b))
    inner = scipy.special.expit(centre[..., None] + deviation[..., None] * _EDGES)
    ends = np.broadcast_to([0.0, 1.0], (*a.shape, 2))

    def log_density(x: FloatArray) -> FloatArray:
        # Panels of no width, where several arms end at 0 or 1, weigh nothing but must not be infinite.
        inside = np.clip(x, np.finfo(np.float64).tiny, _NEARLY_ONE)
        return (a[:, None, None] - 1.0) * np.log(inside) + (b[:, None, None] - 1.0) * np.log1p(-inside)

    return _compete(np.concatenate([inner, ends], axis=-1), log_density, np.ones(a.shape, np.bool_))


def _means(centre: FloatArray, variance: FloatArray) -> Best:
    """Compare rows of normal means. An arm without data gets placeholder numbers, and is left out."""
    known = np.isfinite(centre) & np.isfinite(variance) & (variance > 0)
    lender = known.argmax(axis=-1)[..., None]
    middle = np.where(known, centre, np.nan_to_num(np.take_along_axis(centre, lender, axis=-1)))
    spread = np.where(known, variance, np.take_along_axis(np.where(known, variance, 1.0), lender, axis=-1))
    # Panels below the spacing of floats have no width.
    closest = _RESOLUTION * np.abs(middle).max(axis=-1, keepdims=True)
    deviation = np.maximum(np.sqrt(spread), closest)

    def log_density(x: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            z = (x - middle[:, None, None]) / deviation[:, None, None]
        return np.asarray(-0.5 * np.clip(z, -_FAR, _FAR) ** 2)

    return _compete(middle[..., None] + deviation[..., None] * _EDGES, log_density, known)


def _compete(edges: FloatArray, log_density: LogDensity, known: BoolArray) -> Best:
    """Integrate rows over all panels between their arms' sorted `edges` (rows, arms, edges).

    chance_i = ∫ f_i prod_{j≠i} F_j and loss_i = ∫ F_i (1 - prod_{j≠i} F_j), the latter because the mean of
    a maximum is that of any of its parts plus ∫ (F_part - F_max).
    """
    ends = np.sort(edges.reshape(len(edges), -1), axis=-1)
    half = 0.5 * np.diff(ends)[..., None, None]
    weights = half * _WEIGHTS[:, None]
    logs = log_density(ends[:, :-1, None, None] + half * (1.0 + _NODES[:, None]))
    density = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
    density /= (density * weights).sum(axis=(1, 2), keepdims=True)
    beyond = np.where(known[:, None, None], _beyond(density, weights, half), 0.0)
    beyond = np.clip(beyond, 0.0, _NEARLY_ONE)
    log_below = np.log1p(-beyond)
    log_others = log_below.sum(axis=-1, keepdims=True) - log_below
    chance = (weights * density * np.exp(log_others)).sum(axis=(1, 2))
    loss = (weights * (1.0 - beyond) * -np.expm1(log_others)).sum(axis=(1, 2))
    return Best(np.where(known, chance, np.nan), np.where(known, loss, np.nan))


def _beyond(density: FloatArray, weights: FloatArray, half: FloatArray) -> FloatArray:
    """Compute the probability that an arm lies above each node, in its panel and all later ones."""
    masses = (density * weights).sum(axis=2)
    after = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1] - masses
    return np.asarray(after[:, :, None] + half * (_TO_THE_END @ density))


def _to_the_end() -> FloatArray:
    """Matrix from values at the nodes to integrals from each node to 1."""
    legendre = np.polynomial.legendre
    values = legendre.legvander(_NODES, len(_NODES) - 1)
    integrals = [legendre.legint(row) for row in np.eye(len(_NODES))]
    to_the_end = [legendre.legval(1.0, one) - legendre.legval(_NODES, one) for one in integrals]
    return np.asarray(np.stack(to_the_end, axis=-1) @ np.linalg.inv(values))


_TO_THE_END = _to_the_end()


def _by_blocks(rows: Callable[[FloatArray, FloatArray], Best], first: FloatArray, second: FloatArray) -> Best:
    """Process blocks of rows one after another, for arrays of any shape."""
    shape = first.shape
    flat = first.reshape(-1, shape[-1]), second.reshape(-1, shape[-1])
    block = max(1, _AT_ONCE // (shape[-1] ** 2 * len(_EDGES) * len(_NODES)))
    blocks = [rows(*(part[at : at + block] for part in flat)) for at in range(0, max(len(flat[0]), 1), block)]
    return Best(
        np.concatenate([found.chance for found in blocks]).reshape(shape),
        np.concatenate([found.loss for found in blocks]).reshape(shape),
    )
