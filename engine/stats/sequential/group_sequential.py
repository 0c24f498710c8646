"""Group-sequential boundaries by alpha spending, and their power.

A look is its information fraction: observed over planned visitors. The statistic z at fractions
t_1 < … < t_K is that of a Brownian motion, B(t) = z sqrt(t), with drift: the expected z at t = 1.
Crossing probabilities by recursive numerical integration: Armitage, McPherson and Rowe (1969), JRSS A 132;
Jennison and Turnbull (2000), "Group Sequential Methods", chapter 19.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import FloatArray
from engine.stats.roots import bisect

# Two-sided tails beyond this many standard errors are below the smallest positive float.
FARTHEST = 38.0
# Density beyond this many standard errors is negligible.
_REACH = 30.0
# Closer looks would need a finer grid.
CLOSEST_LOOKS = 1e-4
_PANEL_NODES, _PANEL_WEIGHTS = np.polynomial.legendre.leggauss(10)


def spent(fraction: npt.ArrayLike, alpha: float) -> FloatArray:
    """Compute the alpha spent by a fraction: the share of A/A tests that may be significant by then.

    4 · (1 - Phi(z_{alpha/4} / sqrt(t))), the O'Brien-Fleming type: each side spends alpha/2 by
    2 · (1 - Phi(z / sqrt(t))): Lan and DeMets (1983), Biometrika 70. All of alpha from t = 1 on.
    """
    t = np.clip(np.asarray(fraction, np.float64), np.finfo(np.float64).tiny, 1.0)
    return np.asarray(4.0 * scipy.special.ndtr(scipy.special.ndtri(alpha / 4.0) / np.sqrt(t)))


def information_fractions(visitors: npt.ArrayLike, planned: float) -> FloatArray:
    """Convert visitor counts of looks to information fractions, in order.

    The first count at or beyond the plan ends it: all of alpha is spent there, and its decision stands.
    Looks without new visitors do not count. Empty without visitors.
    """
    fractions = np.minimum(np.asarray(visitors, np.float64) / planned, 1.0)
    kept: list[float] = []
    for fraction in fractions:
        if fraction - (kept[-1] if kept else 0.0) >= CLOSEST_LOOKS:
            kept.append(float(fraction))
    return np.array(kept)


def obrien_fleming(fractions: npt.ArrayLike, alpha: float) -> FloatArray:
    """Compute the critical |z| at each look, so that all looks together err with probability `alpha` at most.

    Solved look by look from `spent`, so looks may come at any fraction; capped at FARTHEST.
    Fractions rise by at least CLOSEST_LOOKS and do not pass 1; with the last at 1 the level is exact.
    """
    looks = _checked(fractions)
    allowances = np.diff(spent(looks, alpha), prepend=0.0)
    critical = np.empty_like(looks)
    for k, (before, allowance) in enumerate(zip(_walk(looks, critical), allowances, strict=True)):
        critical[k] = _critical_that_spends(allowance, before)
    return critical


def crossing_probability(
    fractions: npt.ArrayLike, critical: npt.ArrayLike, drift: npt.ArrayLike = 0.0
) -> FloatArray:
    """Compute the probability that |z| has reached `critical` by each look.

    Shape: that of `drift` and then the looks. With drift 0 it is the error rate, with the drift of a true
    effect the power.
    """
    looks, limits = _checked(fractions), np.asarray(critical, np.float64)
    drifts = np.asarray(drift, np.float64)
    steps = [
        before.crossing(limit, drifts) for before, limit in zip(_walk(looks, limits), limits, strict=True)
    ]
    return np.cumsum(np.stack(steps, axis=-1), axis=-1)


def drift_for_power(fractions: npt.ArrayLike, critical: npt.ArrayLike, power: float) -> float:
    """Find the expected z at fraction 1 whose probability of crossing by the last look is `power`."""

    def missing(drift: float) -> float:
        return power - float(crossing_probability(fractions, critical, drift)[-1])

    if missing(0.0) <= 0:
        return 0.0
    # At the last look alone the power for the first guess is a half.
    likely = min(float(np.asarray(critical)[-1]), FARTHEST / 2.0)
    low, high = (likely, 2.0 * likely) if missing(likely) > 0 else (0.0, likely)
    high = high if missing(high) <= 0 else FARTHEST
    return float(scipy.optimize.brentq(missing, low, high, xtol=1e-13, rtol=1e-14))


@dataclass(frozen=True, slots=True)
class _Undecided:
    """Sub-density of B without drift at the nodes `at` of a look, given no earlier crossing, times weights.

    The next look is at `next_look`. A drift enters by its likelihood ratio, exp(drift B - drift² t / 2).
    """

    nodes: FloatArray
    mass: FloatArray
    at: float
    next_look: float

    def crossing(self, critical: npt.ArrayLike, drift: npt.ArrayLike = 0.0) -> FloatArray:
        """Compute the probability that |z| first reaches `critical` at the next look, elementwise."""
        limit = np.asarray(critical, np.float64)[..., None] * np.sqrt(self.next_look)
        theta = np.asarray(drift, np.float64)[..., None]
        step = np.sqrt(self.next_look - self.at)
        middle = self.nodes + theta * step**2
        tails = scipy.special.ndtr((middle - limit) / step) + scipy.special.ndtr((-limit - middle) / step)
        likelihood = np.exp(theta * self.nodes - 0.5 * theta**2 * self.at)
        return np.asarray((self.mass * likelihood * tails).sum(axis=-1))

    def survive(self, critical: float, then: float) -> Self:
        """Move on to the next look, given that it does not cross either; the look after it is at `then`."""
        step, root = np.sqrt(self.next_look - self.at), np.sqrt(self.next_look)
        reach = min(critical, _REACH) * root
        finest = min(step, np.sqrt(then - self.next_look))
        nodes, weights = _panels(reach, 1.5 * finest)
        jump = (nodes[:, None] - self.nodes) / step
        density = (self.mass * np.exp(-0.5 * jump**2)).sum(axis=-1) / (step * np.sqrt(2.0 * np.pi))
        return type(self)(nodes, weights * density, self.next_look, then)


def _critical_that_spends(allowance: float, before: _Undecided) -> float:
    def left_over(critical: FloatArray) -> FloatArray:
        return before.crossing(critical) - allowance

    return bisect(left_over, 0.0, FARTHEST).item()


def _walk(looks: FloatArray, critical: FloatArray) -> Iterator[_Undecided]:
    """Yield the undecided distribution before each look; reads `critical` of a look only for the next one."""
    state = _Undecided(np.zeros(1), np.ones(1), 0.0, float(looks[0]))
    yield state
    for k in range(1, looks.size):
        state = state.survive(float(critical[k - 1]), float(looks[k]))
        yield state


def _panels(reach: float, width: float) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights over [-reach, reach] in panels no wider than `width`."""
    edges = np.linspace(-reach, reach, int(np.ceil(2.0 * reach / width)) + 1)
    half = 0.5 * np.diff(edges)[:, None]
    nodes = edges[:-1, None] + half * (1.0 + _PANEL_NODES)
    return nodes.ravel(), (half * _PANEL_WEIGHTS).ravel()


def _checked(fractions: npt.ArrayLike) -> FloatArray:
    looks = np.atleast_1d(np.asarray(fractions, np.float64))
    if (
        looks.ndim != 1
        or looks.size == 0
        or np.any(np.diff(looks, prepend=0.0) < CLOSEST_LOOKS)
        or looks[-1] > 1.0 + 1e-12
    ):
        raise ValueError(
            f"looks must rise from above 0 to at most 1 by {CLOSEST_LOOKS} or more; got {looks.tolist()}"
        )
    return np.minimum(looks, 1.0)
