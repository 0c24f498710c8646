"""Priors: from pre-period conversions, and on the relative lift."""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables
from engine.stats.estimates import Estimate
from engine.stats.frequentist.fisher_exact import SMALL_CELL
from engine.stats.moments import Moments

# Panels of a standard deviation each, ten to either side, are integrated to rounding error.
_EDGES = np.linspace(-10.0, 10.0, 21)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# Below it a mean is noise of rounding, and its inverse is beyond what a float holds.
_SMALLEST_MEAN = 1e-100
_NEWTON_STEPS = 6
_SQRT_TWO_PI = np.sqrt(2.0 * np.pi)


@dataclass(frozen=True, slots=True)
class LiftPosterior:
    """Posterior of the relative lift, a share, elementwise; NaN where `defined` is False.

    `chance` that it is above 0, and the expected `loss` of choosing the variant, as a lift, E[max(-lift, 0)].
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    chance: FloatArray
    loss: FloatArray
    defined: BoolArray


def pre_period_prior(conversions: float, visitors: float, *, worth: float = 100.0) -> tuple[float, float]:
    """Compute the shapes of a Beta prior centred on the conversion rate before the experiment.

    It weighs as much as `worth` visitors (fewer, if there were fewer) on top of the flat prior, and is the
    same for every arm, so it favours none: Gelman et al. (2013), "Bayesian Data Analysis", section 2.4.
    """
    if not 0 <= conversions <= visitors or worth < 0:
        raise ValueError("conversions lie between 0 and visitors, and worth is not negative")
    counted = min(worth, visitors)
    share = conversions / visitors if visitors > 0 else 0.0
    return 1.0 + counted * share, 1.0 + counted * (1.0 - share)


def update_lift(
    control: Estimate, variant: Estimate, *, prior_mean: float, prior_deviation: float, alpha: float = 0.05
) -> LiftPosterior:
    """Update a normal prior on the lift, such as "most changes move this metric by less than 5%".

    lift ~ N(prior), control mean flat: with the means normal, the variant's given the lift l is
    N((1 + l) c, v_t + (1 + l)² v_c), c the observed control mean: the likelihood of Fieller's problem
    (1954, JRSS B 16), so no ratio is approximated. Times the prior, by quadrature. A flat prior is a wide
    one. Where an arm has no variance, as without conversions, both have that of all their visitors.
    Not defined where the control's mean is not above 0 (but for rounding), an arm has no estimate or nothing
    varies.
    """
    control, variant = _with_shared_variance(control, variant)
    known = control.defined & variant.defined & (control.value > _SMALLEST_MEAN)
    defined = known & (np.where(known, control.variance + variant.variance, 0.0) > 0)
    density = _LiftDensity(
        control=np.where(defined, control.value, 1.0),
        variant=np.where(defined, variant.value, 1.0),
        control_variance=np.where(defined, control.variance, 1.0),
        variant_variance=np.where(defined, variant.variance, 1.0),
        prior_mean=prior_mean,
        prior_deviation=prior_deviation,
    )
    below, shortfall = density.below(np.zeros(defined.shape))
    return LiftPosterior(
        mean=np.where(defined, density.mean(), np.nan),
        low=np.where(defined, density.quantile(alpha / 2.0), np.nan),
        high=np.where(defined, density.quantile(1.0 - alpha / 2.0), np.nan),
        chance=np.where(defined, 1.0 - below, np.nan),
        loss=np.where(defined, shortfall, np.nan),
        defined=defined,
    )


def estimate_shares(tables: Tables) -> tuple[Estimate, Estimate]:
    """Estimate the shares of control and variant for `update_lift`; a small cell takes the pooled variance.

    There an arm's own variance is as uncertain as its share, and 0 without conversions.
    """
    control = Estimate.of(Moments.of_shares(tables.control_hits, tables.control_n))
    variant = Estimate.of(Moments.of_shares(tables.hits, tables.n))
    pooled = (tables.control_hits + tables.hits) / np.maximum(tables.control_n + tables.n, 1.0)
    is_small = tables.smallest_cell < SMALL_CELL

    def with_pooled(arm: Estimate) -> Estimate:
        variance = np.where(is_small, pooled * (1.0 - pooled) / np.maximum(arm.n - 1.0, 1.0), arm.variance)
        return replace(arm, variance=np.where(arm.defined, variance, np.nan))

    return with_pooled(control), with_pooled(variant)


def _with_shared_variance(control: Estimate, variant: Estimate) -> tuple[Estimate, Estimate]:
    """Where a variance is 0, give both arms that of all their visitors together: p (1 - p) / n of shares."""
    both = np.maximum(control.n + variant.n, 1.0)
    apart = control.n * variant.n / both * (variant.value - control.value) ** 2
    within = [arm.variance * arm.n * (arm.n - 1.0) for arm in (control, variant)]
    each = (within[0] + within[1] + apart) / np.maximum(both - 1.0, 1.0)
    is_constant = (control.variance == 0.0) | (variant.variance == 0.0)

    def shared(arm: Estimate) -> Estimate:
        variance = np.where(is_constant, each / np.maximum(arm.n, 1.0), arm.variance)
        return Estimate(arm.value, variance, arm.n)

    return shared(control), shared(variant)


@dataclass(frozen=True, slots=True)
class _LiftDensity:
    """The posterior of the lift, known up to a constant."""

    control: FloatArray
    variant: FloatArray
    control_variance: FloatArray
    variant_variance: FloatArray
    prior_mean: float
    prior_deviation: float

    def bell(self) -> tuple[FloatArray, FloatArray]:
        """Centre and deviation of the normal approximation, linear in the lift."""
        ratio = self.variant / self.control
        # The root, since the square of a small mean's inverse is beyond what a float holds.
        root = self.control / np.hypot(np.sqrt(self.variant_variance), ratio * np.sqrt(self.control_variance))
        data_precision = root**2
        precision = 1.0 / self.prior_deviation**2 + data_precision
        centre = (self.prior_mean / self.prior_deviation**2 + (ratio - 1.0) * data_precision) / precision
        return centre, 1.0 / np.sqrt(precision)

    def log_density(self, lift: FloatArray) -> FloatArray:
        """Log of likelihood times prior at `lift`, which has a last axis more."""
        factor = 1.0 + lift
        spread = self.variant_variance[..., None] + factor**2 * self.control_variance[..., None]
        misfit = (self.variant[..., None] - factor * self.control[..., None]) ** 2 / spread
        return np.asarray(
            -0.5 * (misfit + np.log(spread) + ((lift - self.prior_mean) / self.prior_deviation) ** 2)
        )

    def panels(self, edge: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Lifts and weights that add up to 1, in panels of which two meet at `edge`; log of the constant."""
        centre, deviation = self.bell()
        ends = centre[..., None] + deviation[..., None] * _EDGES
        inside = np.clip(edge[..., None], ends[..., :1], ends[..., -1:])
        ends = np.sort(np.concatenate([ends, inside], axis=-1), axis=-1)
        half = 0.5 * np.diff(ends)[..., None]
        lift = (ends[..., :-1, None] + half * (1.0 + _NODES)).reshape(*edge.shape, -1)
        logs = self.log_density(lift)
        highest = logs.max(axis=-1, keepdims=True)
        weight = np.exp(logs - highest) * (half * _WEIGHTS).reshape(lift.shape)
        total = weight.sum(axis=-1, keepdims=True)
        return lift, weight / total, (np.log(total) + highest)[..., 0]

    def mean(self) -> FloatArray:
        """The average lift."""
        lift, weight, _ = self.panels(self.bell()[0])
        return np.asarray((lift * weight).sum(axis=-1))

    def below(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the probability of a lift below `at`, and the expected shortfall, E[max(at - lift, 0)]."""
        lift, weight, _ = self.panels(at)
        short = np.maximum(at[..., None] - lift, 0.0)
        return (weight * (short > 0)).sum(axis=-1), (weight * short).sum(axis=-1)

    def quantile(self, share: float) -> FloatArray:
        """Find the lift below which `share` lies, by Newton's method on the normal scale."""
        centre, deviation = self.bell()
        _, _, log_total = self.panels(centre)
        target = scipy.special.ndtri(share)
        value = np.asarray(centre + target * deviation)
        for _ in range(_NEWTON_STEPS):
            z = scipy.special.ndtri(np.clip(self.below(value)[0], 1e-300, 1.0 - 2.0**-53))
            density = np.exp(self.log_density(value[..., None])[..., 0] - log_total)
            slope = np.maximum(density, 1e-300) * _SQRT_TWO_PI * np.exp(0.5 * z**2)
            value = value - np.clip((z - target) / slope, -deviation, deviation)
        return value
