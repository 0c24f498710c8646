"""Heavy-tailed amounts: calibration of Welch's test with and without a cap, and of quantiles."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from engine.calibration.method import (
    FAMILY,
    Method,
    MethodOutcome,
    cases_of,
    outcome_of_estimates,
    outcome_of_means,
)
from engine.calibration.trials import (
    LOG_DEVIATION,
    ORDERS,
    PARETO_SHAPE,
    OrderShape,
    Setting,
    check_shape,
)
from engine.stats.arrays import FloatArray
from engine.stats.estimates import Estimate
from engine.stats.frequentist.quantiles import QuantileComparison, ValueCounts, compare_quantiles
from engine.stats.moments import Moments
from engine.stats.winsorizing import winsorize

CAP_PERCENTILE = 99.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountsCase:
    """Revenue per visitor: a share `rate` of the visitors buys once, for 1 on average.

    The lift is of the amounts. The control gets `visitors`, the variant one for every `uneven` of those.
    """

    rate: float
    visitors: int
    orders: OrderShape
    uneven: int = 1
    arms: int = 2

    def __post_init__(self) -> None:
        """Raise ValueError for a shape of orders that does not exist."""
        check_shape(self.orders)

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        return f"{self.orders} amounts" + (f", {self.uneven} : 1" if self.uneven > 1 else "")

    @property
    def metric(self) -> str:
        """The metric that is simulated."""
        return f"{self.orders} amounts"

    @property
    def detectable(self) -> float:
        """The lift that one Welch test of uncapped revenue per visitor detects with 80% power."""
        return Setting(rate=self.rate, visitors=self.visitors, orders=self.orders).detectable

    def draw(self, *, lift: float, runs: int, rng: np.random.Generator) -> "AmountsSample":
        """Simulate `runs` experiments."""
        control, variant = (self._spend(n, runs, rng) for n in (self.visitors, self.visitors // self.uneven))
        return AmountsSample(case=self, lift=lift, amounts=(control, variant * (1.0 + lift)))

    def _spend(self, visitors: int, runs: int, rng: np.random.Generator) -> FloatArray:
        buys = rng.random((runs, visitors)) < self.rate
        amounts = np.zeros(buys.shape)
        amounts[buys] = ORDERS[self.orders](rng, int(buys.sum()))
        return amounts

    def capped_mean(self, cap: FloatArray) -> FloatArray:
        """True mean per visitor of the control's amounts, capped at `cap`."""
        if self.orders == "lognormal":
            z = np.log(cap) / LOG_DEVIATION
            beyond = cap * scipy.special.ndtr(-z - LOG_DEVIATION / 2)
            mean = scipy.special.ndtr(z - LOG_DEVIATION / 2) + beyond
        else:
            least = 1.0 - 1.0 / PARETO_SHAPE
            mean = np.where(
                cap > least,
                1.0 - least**PARETO_SHAPE * cap ** (1.0 - PARETO_SHAPE) / (PARETO_SHAPE - 1.0),
                cap,
            )
        return np.asarray(self.rate * mean)

    def quantile(self, share: float) -> float:
        """True quantile of the control's orders."""
        if self.orders == "lognormal":
            return float(np.exp(LOG_DEVIATION * scipy.special.ndtri(share) - LOG_DEVIATION**2 / 2))
        return float((1.0 - 1.0 / PARETO_SHAPE) * (1.0 - share) ** (-1.0 / PARETO_SHAPE))


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountsSample:
    """Amounts of every visitor of the control and of the variant: runs by visitors."""

    case: AmountsCase
    lift: float
    amounts: tuple[FloatArray, FloatArray]

    @property
    def lifts(self) -> FloatArray:
        """True lift of the mean, and of every quantile of the orders."""
        return np.array([self.lift])


def _uncapped(sample: AmountsSample) -> MethodOutcome:
    moments = Moments.stack([Moments.of(arm) for arm in sample.amounts], axis=1)
    return outcome_of_means(moments, mean=sample.case.rate)


def _not_corrected(sample: AmountsSample) -> MethodOutcome:
    """Test without the correction for skewness."""
    control, variant = (Estimate.of(Moments.of(arm)[:, None]) for arm in sample.amounts)
    return outcome_of_estimates(control, variant, mean=sample.case.rate)


def _capped(sample: AmountsSample) -> MethodOutcome:
    """Cap as the service does; the truth is the lift of the capped mean, at the cap of each run."""
    capped = [winsorize(run, CAP_PERCENTILE) for run in zip(*sample.amounts, strict=True)]
    moments = Moments.stack([each.moments for each in capped])
    cap = np.array([np.inf if each.cap is None else each.cap for each in capped])[:, None, None]
    mean, factor = sample.case.capped_mean(cap), 1.0 + sample.lift
    truth = factor * sample.case.capped_mean(cap / factor) / mean - 1.0
    return replace(outcome_of_means(moments, mean=mean), truth=truth)


def _quantile(share: float) -> Callable[[AmountsSample], MethodOutcome]:
    """Method that compares a quantile of the orders above 0."""

    def run(sample: AmountsSample) -> MethodOutcome:
        pairs = [
            [ValueCounts.of(amounts[amounts > 0]) for amounts in pair]
            for pair in zip(*sample.amounts, strict=True)
        ]
        compared = [compare_quantiles(control, variant, [share], FAMILY) for control, variant in pairs]
        found = QuantileComparison.stack(compared)[:, None]
        apart = [variant.quantiles([share]) - control.quantiles([share]) for control, variant in pairs]
        return MethodOutcome(
            verdict=np.where(found.log_p <= np.log(FAMILY), np.sign(found.z), 0.0).astype(np.int64),
            low=found.lift_low,
            high=found.lift_high,
            observed_lift=np.stack(apart)[:, None] / sample.case.quantile(share),
        )

    return run


METHODS: tuple[Method, ...] = (
    Method(name="Welch, uncapped", run=_uncapped, applies_to=cases_of(AmountsCase)),
    Method(name=f"Welch, capped at {CAP_PERCENTILE:g}%", run=_capped, applies_to=cases_of(AmountsCase)),
    # Skewness cancels between arms of one size; between others plain Welch is too sure of losses.
    Method(
        name="Welch, not corrected",
        run=_not_corrected,
        applies_to=cases_of(AmountsCase, lambda case: case.uneven > 1),
        is_safe=False,
    ),
    Method(name="median order", run=_quantile(0.5), applies_to=cases_of(AmountsCase)),
    Method(
        name="90% quantile order",
        run=_quantile(0.9),
        applies_to=cases_of(AmountsCase, lambda case: case.uneven == 1),
    ),
)
