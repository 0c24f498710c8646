"""Twyman's law: a lift of the primary goal far beyond those of similar tests."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.analysis.comparison.metrics import metric_moments
from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import signed
from engine.stats.arrays import BoolArray, FloatArray

# Standard deviation of true log lifts. 85 published tests had a median lift just under 4%, the significant
# ones among them 6%: Georgiev (2018), "Analysis of 115 A/B Tests", analytics-toolkit.com. 10% is generous,
# and the default of the `lift` prior.
TYPICAL_DEVIATION: Final = 0.10
# An interval wholly beyond this ratio, up or down, is implausible: +50%, or -33%.
IMPLAUSIBLE_RATIO: Final = 1.5
# Deviations of the observed log lift under typical lifts and chance: fewer than 1 test in 10,000 has more.
_IMPLAUSIBLE_Z: Final = 4.0
_Z: Final = 1.959964
# Added to conversions and to the other visitors, so that an arm without conversions has a log rate:
# Haldane (1956), Annals of Human Genetics 20.
_HALF: Final = 0.5


def implausible_lift(check_input: CheckInput) -> CheckResult:
    """Warn where the primary goal's lift is too large to be likely: such results are mostly faults.

    Twyman's law: Kohavi, Tang and Xu (2020), "Trustworthy Online Controlled Experiments", chapter 3. The 95%
    interval of a variant's lift lies beyond +50% or -33%, and typical lifts, normal with a deviation of 10%,
    give such a result in fewer than 1 test in 10,000. `details` have the observed lift, its interval, and the
    lift shrunk towards nothing by the typical ones, as shares. Not applicable where the control has no
    conversions: of nothing there is no percentage.
    """
    if check_input.evidence.epochs is not None:
        return CheckResult("not_applicable", "Weights changed, so all visitors together show no lift.", {})
    lifts = _LogLifts.of(check_input)
    if lifts is None or not (np.isfinite(lifts.value) & (lifts.error > 0)).any():
        return CheckResult("not_applicable", "There is no lift of the primary goal yet.", {})
    names = [variant.name for variant in check_input.experiment.variants]
    rows = np.flatnonzero(lifts.is_implausible).tolist()
    details = {"variants": {names[row]: lifts.details(row) for row in rows}}
    if not rows:
        return CheckResult("ok", "No lift of the primary goal is implausibly large.", details)
    described = "; ".join(f"'{names[row]}' {signed(np.expm1(lifts.value[row]))}" for row in rows)
    return CheckResult(
        "warning",
        f"{described}: a change this large is rarely real. Check that the primary goal is recorded alike, and"
        " once, in every variant.",
        details,
    )


@dataclass(frozen=True, slots=True)
class _LogLifts:
    """Log ratio of each variant's metric to the control's, NaN without one.

    `error` is its standard error, and `null_error` that of a variant like the control.
    """

    value: FloatArray
    error: FloatArray
    null_error: FloatArray

    @classmethod
    def of(cls, check_input: CheckInput) -> "_LogLifts | None":
        """Take the primary goal's; None without a goal or a control.

        Errors are by the delta method: that of a log mean is the mean's over the mean.
        """
        goal, control = check_input.plan.primary, check_input.plan.control
        if goal is None or control is None:
            return None
        rate, variance = _means(check_input, goal)
        known = (rate > 0) & _has_percentage(check_input, goal, control)
        compared = known & known[control] & (np.arange(len(rate)) != control)
        log = np.log(rate, out=np.full(rate.shape, np.nan), where=known)
        square = np.divide(variance, rate**2, out=np.full(rate.shape, np.nan), where=known)
        value, error = log - log[control], np.sqrt(square + square[control])
        null = error if check_input.plan.is_mean[goal] else _pooled_error(check_input, goal, control)
        return cls(*(np.where(compared, each, np.nan) for each in (value, error, null)))

    @property
    def is_implausible(self) -> BoolArray:
        """Whether each lift is beyond what typical lifts and chance explain."""
        size = np.abs(self.value)
        explained = _IMPLAUSIBLE_Z * np.hypot(TYPICAL_DEVIATION, self.null_error)
        return np.asarray((size - _Z * self.error > np.log(IMPLAUSIBLE_RATIO)) & (size > explained))

    def details(self, row: int) -> dict[str, float]:
        """List one variant's lift, JSON-ready."""
        value, error = float(self.value[row]), float(self.error[row])
        shrunk = value * TYPICAL_DEVIATION**2 / (TYPICAL_DEVIATION**2 + error**2)
        logs = {"lift": value, "low": value - _Z * error, "high": value + _Z * error, "shrunk": shrunk}
        return {name: float(np.expm1(log)) for name, log in logs.items()}


def _means(check_input: CheckInput, goal: int) -> tuple[FloatArray, FloatArray]:
    """Return the goal's mean per visitor in each variant, and the variance of that mean."""
    evidence = check_input.evidence
    visitors = evidence.trials[goal].astype(np.float64)
    if check_input.plan.is_revenue[goal] and not check_input.plan.in_clusters:
        revenue = evidence.revenue[goal]
        return revenue.mean, revenue.variance / np.maximum(visitors, 1.0)
    if check_input.plan.is_mean[goal] and evidence.values is not None:
        metric = metric_moments(evidence.values)[goal]
        return metric.mean, metric.variance / np.maximum(metric.n, 1.0)
    rate = (evidence.conversions[goal] + _HALF) / (visitors + 2 * _HALF)
    variance = rate * (1.0 - rate) / (visitors + 2 * _HALF)
    return np.where(visitors > 0, rate, 0.0), variance


def _has_percentage(check_input: CheckInput, goal: int, control: int) -> bool:
    """Tell whether changes are percentages of something: of the control's conversions, where it has any."""
    return bool(check_input.plan.is_mean[goal] or check_input.evidence.conversions[goal, control] > 0)


def _pooled_error(check_input: CheckInput, goal: int, control: int) -> FloatArray:
    """Return the error of each log lift if the variant converts like the control.

    Without conversions of one arm the error of their own rates is far too large.
    """
    visitors = check_input.evidence.trials[goal] + 2 * _HALF
    hits = check_input.evidence.conversions[goal] + _HALF
    pooled = (hits + hits[control]) / (visitors + visitors[control])
    return np.asarray(np.sqrt((1.0 - pooled) / pooled * (1.0 / visitors + 1.0 / visitors[control])))
