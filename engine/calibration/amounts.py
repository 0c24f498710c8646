"""Simulated amounts with heavy tails, visitor by visitor: cut off at a percentile, and by quantile."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from engine.calibration.method import (
    Method,
    MethodOutcome,
    read_arms,
    read_pair,
)
from engine.calibration.trials import LOG_DEVIATION, ORDERS, PARETO_SHAPE, OrderShape, Setting
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.quantiles import estimate_quantiles
from engine.stats.moments import Moments
from engine.stats.winsorizing import winsorize

CAP_PERCENTILE = 99.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """A share of `rate` visitors buy once; orders are 1 on average, and larger by the lift in the variant.

    The control gets `visitors`, and the variant one for every `uneven` of those.
    """

    rate: float
    visitors: int
    orders: OrderShape
    uneven: int = 1
    arms: int = 2

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        return f"{self.orders} amounts" + (f", {self.uneven} : 1" if self.uneven > 1 else "")

    @property
    def metric(self) -> str:
        """What is measured."""
        return f"{self.orders} amounts"

    @property
    def detectable(self) -> float:
        """The lift that a single look at uncut revenue per visitor finds four times in five."""
        return Setting(rate=self.rate, visitors=self.visitors, orders=self.orders).detectable

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "Spent":
        """Run it `runs` times."""
        control, variant = (self._spend(n, runs, rng) for n in (self.visitors, self.visitors // self.uneven))
        return Spent(case=self, lift=lift, amounts=(control, variant * (1.0 + lift)))

    def _spend(self, visitors: int, runs: int, rng: np.random.Generator) -> FloatArray:
        buys = rng.random((runs, visitors)) < self.rate
        amounts = np.zeros(buys.shape)
        amounts[buys] = ORDERS[self.orders](rng, int(buys.sum()))
        return amounts

    def capped_mean(self, cap: FloatArray) -> FloatArray:
        """The true mean per visitor of the control's amounts, cut at `cap`."""
        if self.orders == "lognormal":
            z = np.log(cap) / LOG_DEVIATION
            mean = special.ndtr(z - LOG_DEVIATION / 2) + cap * special.ndtr(-z - LOG_DEVIATION / 2)
        else:
            least = 1.0 - 1.0 / PARETO_SHAPE
            mean = np.where(
                cap > least,
                1.0 - least**PARETO_SHAPE * cap ** (1.0 - PARETO_SHAPE) / (PARETO_SHAPE - 1.0),
                cap,
            )
        return np.asarray(self.rate * mean)

    def quantile(self, share: float) -> float:
        """The true quantile of the control's orders."""
        if self.orders == "lognormal":
            return float(np.exp(LOG_DEVIATION * special.ndtri(share) - LOG_DEVIATION**2 / 2))
        return float((1.0 - 1.0 / PARETO_SHAPE) * (1.0 - share) ** (-1.0 / PARETO_SHAPE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What every visitor of the control and of the variant spent: runs by visitors."""

    case: Amounts
    lift: float
    amounts: tuple[FloatArray, FloatArray]

    @property
    def lifts(self) -> FloatArray:
        """The true lift of the mean, and of every quantile of the orders."""
        return np.array([self.lift])


def _is_amounts(case: object) -> bool:
    return isinstance(case, Amounts)


def _is_even(case: object) -> bool:
    return isinstance(case, Amounts) and case.uneven == 1


def _is_uneven(case: object) -> bool:
    return isinstance(case, Amounts) and case.uneven > 1


def _uncut(spent: Spent) -> MethodOutcome:
    control, variant = (Estimate.of(Moments.of(arm)[:, None]) for arm in spent.amounts)
    return read_pair(control, variant, mean=spent.case.rate)


def _capped(spent: Spent) -> MethodOutcome:
    """Cut as the service does; what is true is the lift of the capped mean, at the cap of each run."""
    cut = [winsorize(run, CAP_PERCENTILE) for run in zip(*spent.amounts, strict=True)]
    moments = Moments.stack([each.moments for each in cut])
    cap = np.array([np.inf if each.cap is None else each.cap for each in cut])[:, None, None]
    mean, factor = spent.case.capped_mean(cap), 1.0 + spent.lift
    truth = factor * spent.case.capped_mean(cap / factor) / mean - 1.0
    return replace(read_arms(Estimate.of(moments), mean=mean), truth=truth)


def _quantile(share: float) -> Callable[[Spent], MethodOutcome]:
    """A reader of the quantile of the orders of those who bought."""

    def read(spent: Spent) -> MethodOutcome:
        control, variant = (
            Estimate.stack([estimate_quantiles(amounts[amounts > 0], share) for amounts in arm])[:, None]
            for arm in spent.amounts
        )
        return read_pair(control, variant, mean=spent.case.quantile(share))

    return read


METHODS: tuple[Method, ...] = (
    Method(name="Welch, uncut", read=_uncut, fits=_is_even),
    Method(name=f"Welch, capped at {CAP_PERCENTILE:g}%", read=_capped, fits=_is_even),
    # Skewness cancels between arms of one size. Between others it does not, until the smaller is large.
    Method(name="Welch, uncut", read=_uncut, fits=_is_uneven, is_safe=False),
    Method(name=f"Welch, capped at {CAP_PERCENTILE:g}%", read=_capped, fits=_is_uneven, is_safe=False),
    Method(name="median order", read=_quantile(0.5), fits=_is_amounts),
    Method(name="90% quantile order", read=_quantile(0.9), fits=_is_even),
)
