"""How likely a variant is to be better, and what choosing it wrongly would cost: flat priors throughout."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from engine.analysis import beta
from engine.analysis.frequentist import fieller
from engine.analysis.moments import Moments
from engine.analysis.roots import falling_root
from engine.analysis.tables import Tables

FloatArray = npt.NDArray[np.float64]

_SQRT_TWO_PI = np.sqrt(2.0 * np.pi)


@dataclass(frozen=True, slots=True)
class Posterior:
    """What is believed about a variant against its control, elementwise; NaN where there is no number.

    `chance` is that of the variant's mean being the higher one; `loss` what choosing the variant costs on
    average where it is the lower one, in the metric's unit: E[max(control - variant, 0)].
    """

    chance: FloatArray
    loss: FloatArray


def compare_shares(tables: Tables) -> Posterior:
    """Beta posteriors of two shares under the flat prior Beta(1, 1).

    The loss in closed form: with g the chance that the control is higher and h = B(a+c, b+d) / (B(a,b)
    B(c,d)), E[max(C - T, 0)] = (E[C] - E[T]) g + h (1/(a+b) + 1/(c+d)), from the recurrences of g in
    Cook (2005), "Exact calculation of beta inequalities".
    """
    seen = (tables.n > 0) & (tables.control_n > 0)
    chance, loss = np.full(seen.shape, np.nan), np.full(seen.shape, np.nan)
    if seen.any():
        a, b, c, d = _shapes(tables[seen])
        chance[seen], below = beta.chances(a, b, c, d)
        overlap = np.exp(beta.log_overlap(a, b, c, d))
        gap = c / (c + d) - a / (a + b)
        loss[seen] = np.maximum(gap * below + overlap * (1.0 / (a + b) + 1.0 / (c + d)), 0.0)
    return Posterior(chance, loss)


def share_lift(tables: Tables, tail: float) -> tuple[FloatArray, FloatArray]:
    """Credible interval of the relative lift of a share, leaving out `tail` on each side.

    Excludes 0 exactly where the chance to beat is above 1 - tail or below tail.
    """
    seen = (tables.n > 0) & (tables.control_n > 0)
    low, high = np.full(seen.shape, np.nan), np.full(seen.shape, np.nan)
    if seen.any():
        a, b, c, d = _shapes(tables[seen])
        centre = special.digamma(a) - special.digamma(a + b) - special.digamma(c) + special.digamma(c + d)
        spread = np.sqrt(
            special.polygamma(1, a)
            - special.polygamma(1, a + b)
            + special.polygamma(1, c)
            - special.polygamma(1, c + d)
        )
        reach = 1.2 * -special.ndtri(min(tail, 0.4)) * spread
        for bound, target in ((low, 1.0 - tail), (high, tail)):
            start = centre - reach if target > 0.5 else centre
            log_ratio = falling_root(
                lambda u, target=target: beta.chance_of_ratio(a, b, c, d, np.exp(u)) - target,
                start,
                start + reach,
            )
            bound[seen] = np.expm1(log_ratio)
    return low, high


def compare_means(control: Moments, treatment: Moments) -> Posterior:
    """Normal posteriors of two means per visitor under a flat prior, each with its sample variance.

    NaN where an arm has fewer than two visitors or neither arm's values differ.
    """
    gap, spread = treatment.mean - control.mean, np.sqrt(_variance(control) + _variance(treatment))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(spread > 0, gap / spread, np.nan)
    loss = spread * np.exp(-0.5 * z * z) / _SQRT_TWO_PI - gap * special.ndtr(-z)
    return Posterior(np.asarray(special.ndtr(z)), np.maximum(loss, 0.0))


def mean_lift(control: Moments, treatment: Moments, tail: float) -> tuple[FloatArray, FloatArray]:
    """Credible interval of the relative lift of a mean, leaving out `tail` on each side.

    The chance that the variant's mean is above r times the control's is that of one normal variable, so
    Fieller's interval with the normal quantile holds the posterior's own bounds.
    """
    critical = np.full(control.n.shape, -special.ndtri(tail))
    return fieller(control.mean, _variance(control), treatment.mean, _variance(treatment), critical)


def _shapes(tables: Tables) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Posterior shapes (variant's a and b, control's a and b)."""
    control_misses = tables.control_n - tables.control_hits
    return tables.hits + 1.0, tables.n - tables.hits + 1.0, tables.control_hits + 1.0, control_misses + 1.0


def _variance(moments: Moments) -> FloatArray:
    """Variance of the mean; NaN with fewer than two visitors."""
    enough = moments.n > 1
    return np.where(enough, moments.variance / np.where(enough, moments.n, 1.0), np.nan)
