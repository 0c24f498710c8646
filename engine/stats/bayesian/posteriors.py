"""Posteriors of two arms: chance to beat the control, expected loss, credible intervals."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.bayesian import beta_probability
from engine.stats.bayesian.beta import Beta
from engine.stats.bayesian.beta_difference import differences_with_chance
from engine.stats.bayesian.beta_ratio import ratios_with_chance
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist.hypergeometric import log_overlap
from engine.stats.frequentist.two_sample import fieller

# The shapes of a Beta prior, which broadcast to the tables that it is of.
Shapes = tuple[npt.ArrayLike, npt.ArrayLike]
FLAT: Shapes = (1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Posterior:
    """Posterior of a variant against its control, elementwise; NaN where not defined.

    `chance` is the probability that the variant's mean is higher; `loss` the expected loss of choosing the
    variant, E[max(control - variant, 0)], in the metric's unit, and `change` is E[variant - control].
    """

    chance: FloatArray
    loss: FloatArray
    change: FloatArray


def compare_shares(tables: Tables, prior: Shapes = FLAT) -> Posterior:
    """Compare Beta posteriors of two shares under one `prior` for both, the shapes of a Beta distribution.

    The loss in closed form: with g the chance that the control C ~ Beta(c, d) is above the variant
    T ~ Beta(a, b), and h = B(a+c, b+d) / (B(a, b) B(c, d)), it is
    (E[C] - E[T]) g + h (1/(a+b) + 1/(c+d)), from the recurrences of g in Cook (2005), "Exact calculation
    of beta inequalities".
    """
    seen = tables.have_visitors
    chance, loss, change = (np.full(seen.shape, np.nan) for _ in range(3))
    if seen.any():
        variant, control = _posteriors(tables, prior, seen)
        chance[seen] = beta_probability.chance(variant, control)
        overlap = np.exp(log_overlap(variant.a, variant.b, control.a, control.b))
        spread = overlap * (1.0 / (variant.a + variant.b) + 1.0 / (control.a + control.b))
        change[seen] = variant.mean - control.mean
        loss[seen] = np.maximum(spread - change[seen] * (1.0 - chance[seen]), 0.0)
    return Posterior(chance, loss, change)


def share_lift(tables: Tables, tail: float, prior: Shapes = FLAT) -> tuple[FloatArray, FloatArray]:
    """Compute the credible interval of the relative lift of a share that leaves out `tail` on each side.

    It excludes 0 exactly where the chance to beat is above 1 - tail or below tail. NaN without visitors.
    """
    seen = tables.have_visitors
    low, high = (np.full(seen.shape, np.nan) for _ in range(2))
    if seen.any():
        bounds = ratios_with_chance(*_posteriors(tables, prior, seen), (1.0 - tail, tail))
        low[seen], high[seen] = bounds[0] - 1.0, bounds[1] - 1.0
    return low, high


def share_difference(tables: Tables, tail: float, prior: Shapes = FLAT) -> tuple[FloatArray, FloatArray]:
    """Compute the credible interval of the absolute difference of shares that leaves out `tail` on each side.

    It excludes 0 exactly where the chance to beat is above 1 - tail or below tail. NaN without visitors.
    """
    seen = tables.have_visitors
    low, high = (np.full(seen.shape, np.nan) for _ in range(2))
    if seen.any():
        low[seen], high[seen] = differences_with_chance(*_posteriors(tables, prior, seen), (1.0 - tail, tail))
    return low, high


def compare_means(control: Estimate, treatment: Estimate) -> Posterior:
    """Compare normal posteriors of two means per visitor under a flat prior, each with its own variance.

    NaN where a mean is not defined (fewer than two visitors) or neither arm's values differ.
    """
    change = treatment.minus(control)
    z, error = change.z, np.sqrt(change.variance)
    # From 40 deviations on the density is 0 to every digit, and the square of more may overflow.
    density = np.exp(-0.5 * np.clip(z, -40.0, 40.0) ** 2) / np.sqrt(2.0 * np.pi)
    loss = np.maximum(error * density - change.value * scipy.special.ndtr(-z), 0.0)
    return Posterior(chance=scipy.special.ndtr(z), loss=loss, change=change.value)


def mean_lift(control: Estimate, treatment: Estimate, tail: float) -> tuple[FloatArray, FloatArray]:
    """Compute the credible interval of the relative lift of a mean, leaving out `tail` on each side.

    T - r C is normal for each r, so Fieller's bounds with the normal quantile are those of the posterior.
    """
    critical = np.full(control.n.shape, -scipy.special.ndtri(tail))
    return fieller(control.value, control.variance, treatment.value, treatment.variance, critical)


def mean_difference(control: Estimate, treatment: Estimate, tail: float) -> tuple[FloatArray, FloatArray]:
    """Compute the credible interval of the difference of two means, leaving out `tail` on each side."""
    change = treatment.minus(control)
    reach = -scipy.special.ndtri(tail) * np.sqrt(np.where(np.isfinite(change.z), change.variance, np.nan))
    return change.value - reach, change.value + reach


def _posteriors(tables: Tables, prior: Shapes, where: BoolArray) -> tuple[Beta, Beta]:
    """Posteriors of variant and control, for the tables that a mask picks."""
    a, b = (np.broadcast_to(shape, where.shape)[where] for shape in prior)
    chosen = tables[where]
    variant = Beta(chosen.hits + a, chosen.n - chosen.hits + b)
    return variant, Beta(chosen.control_hits + a, chosen.control_n - chosen.control_hits + b)
