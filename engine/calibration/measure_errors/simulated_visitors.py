"""Simulated visitors of every measure: draws of one arm, and the sums that a report takes of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from engine.analysis.evidence.visitor_values import VisitorValues, no_pairs
from engine.calibration.returning_visitors import draw_returning, lognormal, triple_moments
from engine.stats.arrays import AnyArray, ArrayRecord, FloatArray, IntArray
from engine.stats.moments import Moments
from engine.stats.paired_moments import PairedMoments

Shape = tuple[int, int]

# Shape of the gamma distribution of visitors' rates: counts vary by more than chance.
_DISPERSION: Final = 0.7
# Share of the visitors of whom it is known whether they came back.
_KNOWN: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSums(ArrayRecord):
    """Sums over the visitors of one arm, one a run: those of `VisitorValues`, by which a goal is tested.

    `nonzero` are the visitors with a value other than 0, and `value.n` those with a known outcome.
    """

    value: Moments
    orders: PairedMoments
    before: PairedMoments
    before_orders: PairedMoments
    triple: FloatArray
    nonzero: FloatArray
    largest_orders: FloatArray

    @classmethod
    def of_shares(cls, hits: npt.ArrayLike, known: npt.ArrayLike) -> Self:
        """Take visitors with a known outcome, and those of them with a conversion."""
        return cls._of(Moments.of_shares(hits, known), np.asarray(hits, np.float64))

    @classmethod
    def of_values(cls, y: AnyArray, x: AnyArray | None = None, z: FloatArray | None = None) -> Self:
        """Sum values y, runs by visitors, of ratios with denominators x; with earlier values z."""
        nonzero = np.count_nonzero(y, axis=-1).astype(np.float64)
        pairs = None if x is None else PairedMoments.of(x, y)
        return cls._of(
            Moments.of(y) if pairs is None else pairs.y,
            nonzero,
            orders=pairs,
            largest_orders=None if x is None else np.asarray(x.max(axis=-1), np.float64),
            before=None if z is None else PairedMoments.of(z, y),
            before_orders=None if z is None or x is None else PairedMoments.of(z, x),
            triple=None if z is None or x is None else triple_moments(z, y, np.asarray(x, np.float64)),
        )

    @classmethod
    def _of(  # noqa: PLR0913  # what a measure may have
        cls,
        value: Moments,
        nonzero: FloatArray,
        *,
        orders: PairedMoments | None = None,
        largest_orders: FloatArray | None = None,
        before: PairedMoments | None = None,
        before_orders: PairedMoments | None = None,
        triple: FloatArray | None = None,
    ) -> Self:
        none, unknown = no_pairs(value.n.shape), np.full(value.n.shape, np.nan)
        return cls(
            value=value,
            orders=orders or none,
            before=before or none,
            before_orders=before_orders or none,
            triple=unknown if triple is None else triple,
            nonzero=nonzero,
            largest_orders=unknown if largest_orders is None else largest_orders,
        )

    def values(self) -> VisitorValues:
        """Take runs by arms as the values of goals by variants."""
        return VisitorValues(
            value=self.value,
            caps=np.full(len(self.nonzero), np.nan),
            capped=np.zeros(self.nonzero.shape, np.int64),
            orders=self.orders,
            before=self.before,
            before_orders=self.before_orders,
            without_before=no_pairs(self.nonzero.shape).x,
            triple=self.triple,
            nonzero=self.nonzero,
            largest_orders=self.largest_orders,
        )


Sizes = Callable[[np.random.Generator, int], FloatArray]
Draw = Callable[[np.random.Generator, Shape, float], ArmSums]
"""Draws runs by visitors of an arm whose metric is `factor` times the control's."""


def draw_converted(rate: float) -> Draw:
    """Draw conversions."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        runs, visitors = shape
        return ArmSums.of_shares(rng.binomial(visitors, rate * factor, runs), np.full(runs, visitors))

    return draw


def draw_retained(rate: float) -> Draw:
    """Draw visitors who come back, of those of whom it is known."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        runs, visitors = shape
        known = rng.binomial(visitors, _KNOWN, runs)
        return ArmSums.of_shares(rng.binomial(known, rate * factor), known)

    return draw


def lognormal_sizes(deviation: float) -> Sizes:
    """Return draws of orders of 1 on average."""
    return lambda rng, count: lognormal(rng, deviation, count)


def draw_revenue(rate: float, sizes: Sizes) -> Draw:
    """Draw one order of each buyer, a share `rate` of the visitors."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        return ArmSums.of_values(_of_some(rng, shape, rate, sizes) * factor)

    return draw


def draw_per_order(rate: float, deviation: float) -> Draw:
    """Draw buyers, a share `rate`, with one order or more each, of the same size on average."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        buyers = np.flatnonzero(rng.random(shape) < rate)
        count = 1 + rng.poisson(0.5, buyers.size)
        sizes = np.bincount(np.repeat(np.arange(buyers.size), count), lognormal(rng, deviation, count.sum()))
        orders, spent = np.zeros(shape), np.zeros(shape)
        orders.ravel()[buyers], spent.ravel()[buyers] = count, sizes * factor
        return ArmSums.of_values(spent, orders)

    return draw


def draw_counts(mean: float) -> Draw:
    """Draw events of visitors whose rates differ: negative binomial counts."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        return ArmSums.of_values(_counts(rng, shape, mean * factor))

    return draw


def draw_values(mean: float, deviation: float) -> Draw:
    """Draw normal values of either sign."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        return ArmSums.of_values(rng.normal(mean * factor, deviation, shape))

    return draw


def draw_returns(rate: float) -> Draw:
    """Draw money returned by a share `rate` of the visitors, and the sessions of all."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        sessions = 1.0 + rng.poisson(2.0, shape)
        returned = _of_some(rng, shape, rate, lognormal_sizes(1.0))
        return ArmSums.of_values(returned * factor, sessions)

    return draw


def draw_clicks(mean_views: float, clicked: float) -> Draw:
    """Draw negative binomial views, one at the least, and the clicks on a share of them."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        views = 1 + _counts(rng, shape, mean_views - 1.0)
        return ArmSums.of_values(rng.binomial(views, clicked * factor), views)

    return draw


def draw_pareto_views(tail: float) -> Draw:
    """Draw views with a Pareto tail, of which visitors click on shares of their own, 20% on average."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        views = np.floor(1.0 + rng.pareto(tail, shape)).astype(np.int64)
        clicked = np.minimum(rng.beta(2.0, 8.0, shape) * factor, 1.0)
        return ArmSums.of_values(rng.binomial(views, clicked), views)

    return draw


def draw_adjusted(rate: float, *, per_order: bool) -> Draw:
    """Draw returning visitors with their earlier revenue, by which revenue is adjusted (CUPED)."""

    def draw(rng: np.random.Generator, shape: Shape, factor: float) -> ArmSums:
        past, orders, spent = draw_returning(rate, shape, rng)
        return ArmSums.of_values(spent * factor, orders if per_order else None, past)

    return draw


def _counts(rng: np.random.Generator, shape: Shape, mean: float) -> IntArray:
    return rng.negative_binomial(_DISPERSION, _DISPERSION / (_DISPERSION + mean), shape)


def _of_some(
    rng: np.random.Generator,
    shape: Shape,
    rate: float,
    sizes: Sizes,
) -> FloatArray:
    """Draw an amount of a share of the visitors; the others have 0."""
    chosen = rng.random(shape) < rate
    amounts = np.zeros(shape)
    amounts[chosen] = sizes(rng, int(chosen.sum()))
    return amounts
