"""Cases of decision calibration: a metric, a split of traffic, a plan and its method."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from engine.analysis.comparison.pooled_visitors import drift_for, least_conversions
from engine.analysis.comparison.significance_level import effective_alpha
from engine.calibration.measure_errors.measure_cells import QuantileShape, ValueShape
from engine.calibration.measure_errors.typical_moments import label_of, typical_moments
from engine.calibration.trials import LEVEL, OrderShape, order_variance
from engine.design.planning.plan_days import LAST_DAY
from engine.design.planning.required_sample import (
    detectable_effect,
    non_inferiority_drift,
    non_inferiority_visitors,
    power_of_each,
    required_visitors,
)
from engine.stats.arrays import FloatArray
from engine.vocabulary import SequentialMethod

DecisionMethod = Literal["default", "planned", "always valid", "group sequential", "one-sided", "Bayesian"]

# A plan "near day 140" is never reached: a default one ends on LAST_DAY.
NEVER: Final = 140.0
# The default of `minimum_effect_percent`, as a share.
_DEFAULT_EFFECT: Final = 0.10
# Revenue draws every order, and each look at quantiles goes through its values.
_COSTS_OF_ORDERS: Final = 4
_COSTS_OF_QUANTILES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCase:
    """A test with daily looks whose plan is reached near `plan_day`.

    `rate` is the control's share of visitors who convert or buy; with `orders` the metric is revenue per
    visitor. With `values` it is the measure of those, and `rate` the share of visitors with another than 0.
    `weights` are of the control and of each variant. The plan is for `minimum_effect`, a relative lift as a
    share.
    With `delay` conversions arrive so many days after the visit on average. With `known_after` an outcome is
    known so many days after the visit, as of retention, and counts for nothing before. `guardrail` is the
    margin of `guardrails` goals after the primary one, None without any, which with `non_inferior` must be
    shown to be within it; `secondary` is the number of further goals. All goals have one rate and are
    independent. With a `ramp` its steps, shares of the traffic with their days, come before all of it.
    """

    rate: float
    plan_day: float
    weights: tuple[float, ...] = (1.0, 1.0)
    orders: OrderShape | None = None
    method: DecisionMethod = "default"
    minimum_effect: float = 0.10
    guardrail: float | None = None
    guardrails: int = 1
    non_inferior: bool = False
    secondary: int = 0
    delay: float = 0.0
    known_after: int = 0
    values: ValueShape | None = None
    ramp: tuple[tuple[float, int], ...] = ()

    def __post_init__(self) -> None:
        if self.ramp and self.values is not None:
            raise ValueError("ramps are simulated of shares and revenue")

    @property
    def name(self) -> str:
        """Label of the case in tables."""
        if self.values is not None:
            return label_of(self.values)
        metric = self.orders or f"{self.rate * 100:g}%"
        late = f", {self.delay:g} days late" if self.delay else ""
        steps = "".join(f"{share * 100:g} → " for share, _ in self.ramp)
        metric += f", ramp {steps}100%" if steps else ""
        return metric + (f", known after {self.known_after} days" if self.known_after else late)

    @property
    def costs(self) -> int:
        """How many times the least to simulate, so that there are fewer runs of it."""
        if isinstance(self.values, QuantileShape):
            return _COSTS_OF_QUANTILES
        return _COSTS_OF_ORDERS if self.orders else 1

    @property
    def split(self) -> str:
        """Weights as text, the control first."""
        return ":".join(f"{weight:g}" for weight in self.weights)

    @property
    def plan_label(self) -> str:
        """The day near which the plan is reached, as text."""
        return f"day {self.plan_day:g}" if self.has_end else "never"

    @property
    def is_given(self) -> bool:
        """Whether the planned sample is given, as group-sequential tests require."""
        return self.method in {"planned", "group sequential"}

    @property
    def sequential(self) -> SequentialMethod:
        """The setting `statistics.sequential`."""
        if self.method == "always valid":
            return "always_valid"
        return "group_sequential" if self.method == "group sequential" else "none"

    @property
    def alpha(self) -> float:
        """Two-sided level of one comparison, as a share: a one-sided test has all of alpha on each side."""
        return effective_alpha(LEVEL, len(self.weights)) * (2.0 if self.method == "one-sided" else 1.0)

    @property
    def drift(self) -> float:
        """Mean z at the plan that gives 80% power."""
        return drift_for(self.sequential, self.alpha, plan_day=self.plan_day)

    @property
    def power_of_each(self) -> float:
        """Power planned for the primary goal, and for each guardrail that must be shown within its margin."""
        return power_of_each(1 + (self.guardrails if self.non_inferior else 0))

    @property
    def planned_drift(self) -> float:
        """Mean z of the primary goal at the plan that gives it `power_of_each`."""
        return drift_for(self.sequential, self.alpha, plan_day=self.plan_day, power=self.power_of_each)

    @property
    def shares(self) -> FloatArray:
        """Shares of the traffic, the control first."""
        weights = np.asarray(self.weights)
        return np.asarray(weights / weights.sum())

    @property
    def goals(self) -> int:
        """Number of goals: the primary one, guardrails, and secondary ones."""
        return 1 + (0 if self.guardrail is None else self.guardrails) + self.secondary

    @property
    def is_mean(self) -> bool:
        """Whether the metric is no share."""
        return self.orders is not None or self.values is not None

    @property
    def mean(self) -> float:
        """Mean of the metric per visitor, without any effect: an order is 1 on average."""
        return self.rate if self.values is None else float(typical_moments(self.values).mean)

    @property
    def variance(self) -> float:
        """Variance of the metric per visitor, without any effect."""
        if self.values is not None:
            return float(typical_moments(self.values).variance)
        return order_variance(self.orders, self.rate) if self.orders else self.rate * (1.0 - self.rate)

    @property
    def least_conversions(self) -> float:
        """Conversions of all variants that the plan waits for."""
        is_bayesian = self.method == "Bayesian"
        return least_conversions(self.shares, 0, by_mean=self.is_mean, is_bayesian=is_bayesian)

    @property
    def planned(self) -> int:
        """Visitors that the plan requires without any effect, all variants together."""
        needed = required_visitors(
            mean=self.mean,
            variance=self.variance,
            conversion_rate=self.rate,
            minimum_effect=self.minimum_effect,
            shares=self.shares,
            drift=self.planned_drift,
            least_conversions=self.least_conversions,
        )
        return int(
            np.maximum(needed, self.guardrail_sample(np.array([self.mean]), np.array([self.variance])))
        )

    def guardrail_sample(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Compute the visitors that show every guardrail within its margin; guardrails are the last axis.

        0 where none must be shown.
        """
        if self.guardrail is None or not self.non_inferior:
            return np.zeros(mean.shape[:-1])
        visitors = non_inferiority_visitors(
            variance=variance,
            lost=self.guardrail * mean,
            kept=1.0 - self.guardrail,
            shares=self.shares,
            drift=non_inferiority_drift(self.power_of_each),
        )
        return np.asarray(visitors.max(axis=-1))

    @property
    def daily_visitors(self) -> FloatArray:
        """New visitors of each variant on each day."""
        return np.ceil(self.planned / (self.plan_day - self.known_after) * self.shares)

    def traffic(self, days: int) -> FloatArray:
        """Share of the traffic on each of so many days."""
        steps = [np.full(length, share) for share, length in self.ramp]
        return np.concatenate([*steps, np.ones(days)])[:days]

    @property
    def has_end(self) -> bool:
        """Whether the planned sample itself is reached by LAST_DAY."""
        return self.plan_day <= LAST_DAY

    @property
    def planned_effect(self) -> float:
        """Effect that the test detects by the end of its plan: the minimum, or what LAST_DAY can find."""
        if self.has_end:
            return self.minimum_effect
        found = detectable_effect(
            mean=self.mean,
            variance=self.variance,
            visitors=(LAST_DAY - self.known_after) * float(self.daily_visitors.sum()),
            shares=self.shares,
            drift=self.drift,
        )
        return float(found)

    @property
    def relevant_effect(self) -> float:
        """The setting `minimum_effect_percent`, as a share; a given sample may detect less than that."""
        return max(self.minimum_effect, _DEFAULT_EFFECT) if self.is_given else self.minimum_effect

    @property
    def equivalence_margin(self) -> float:
        """Lift at which "no difference" is false; where the sample is given, what that detects."""
        if not self.is_given:
            return self.minimum_effect
        detected = detectable_effect(
            mean=self.mean,
            variance=self.variance,
            visitors=self.planned,
            shares=self.shares,
            drift=self.drift,
        )
        return min(self.relevant_effect, float(detected))
