"""Novelty effect: an effect on the primary goal that fades with the days since first exposure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import signed
from engine.analysis.results.numbers import number
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables, lift_of_log_odds
from engine.stats.frequentist.trend import Novelty, effect_by_day

# A trend this unlikely under a lasting effect is one; shared by the variants compared with the control.
NOVELTY_ALPHA: Final = 0.01
# With less, chance hides any trend: days since exposure, and conversions of an arm.
MIN_DAYS: Final = 3
MIN_CONVERSIONS: Final = 25
# Intervals of single days are for charts: 95%, pointwise.
_Z: Final = 1.959964


def novelty(check_input: CheckInput) -> CheckResult:
    """Warn where the effect on the primary goal's conversions fades with the days since first exposure.

    `details` have the effect of each variant by day, as changes of the control's conversion rate a day over
    all days (shares, with pointwise 95% intervals), and the trend's values on the first day and the last.
    Bonferroni over the variants; the test is `effect_by_day`'s, for one look.
    """
    obstacle = _obstacle(check_input)
    control, follow_up = check_input.plan.control, check_input.evidence.follow_up
    if obstacle is not None or control is None or follow_up is None:
        return _not_applicable(obstacle or "The days from exposure to conversion are not known.")
    variants = _variants_with_enough(follow_up, control)
    if len(follow_up.at_risk) < MIN_DAYS or not variants:
        return _not_applicable(
            "Too few days since exposure, or conversions on them, to test whether the effect lasts."
        )
    trends = _Trends.of(follow_up, control, variants)
    names = [check_input.experiment.variants[variant].name for variant in variants]
    alpha = NOVELTY_ALPHA / len(variants)
    fading, growing = trends.trend.fades(alpha), trends.trend.grows(alpha)
    by_variant = {
        name: {"fades": bool(fading[i]), "grows": bool(growing[i]), **trends.details(i)}
        for i, name in enumerate(names)
    }
    return CheckResult(
        "warning" if fading.any() else "ok",
        trends.message(names, fading, growing),
        {"days": len(follow_up.at_risk), "variants": by_variant},
    )


def _obstacle(check_input: CheckInput) -> str | None:
    """Say why days since exposure tell nothing of this experiment; None where they do."""
    plan = check_input.plan
    if plan.in_clusters:
        units = f"{check_input.evidence.noun}s".capitalize()
        return f"{units} are compared, and days since exposure are those of visitors."
    if plan.primary is None or plan.is_mean[plan.primary]:
        return "Only conversions of a primary goal are tested by days since exposure."
    if plan.is_bandit or check_input.evidence.epochs is not None:
        return "Weights changed, so early and late visitors are not split alike."
    return None


def _not_applicable(reason: str) -> CheckResult:
    return CheckResult("not_applicable", reason, {})


def _variants_with_enough(follow_up: FollowUp, control: int) -> list[int]:
    """List the variants with enough conversions; none where the control has too few."""
    enough = follow_up.conversions.sum(axis=0) >= MIN_CONVERSIONS
    return [variant for variant in np.flatnonzero(enough).tolist() if enough[control] and variant != control]


@dataclass(frozen=True, slots=True)
class _Trends:
    """Trend of each variant's log odds ratio, and the control's rate to express it as a relative change."""

    trend: Novelty
    tables: Tables
    control_rate: FloatArray

    @classmethod
    def of(cls, follow_up: FollowUp, control: int, variants: Sequence[int]) -> "_Trends":
        hits, n = follow_up.conversions, follow_up.at_risk
        tables = Tables.of(hits[:, [control]], n[:, [control]], hits[:, variants], n[:, variants])
        rate = hits[:, control].sum() / n[:, control].sum()
        return cls(effect_by_day(tables), tables, np.asarray(rate))

    def details(self, i: int) -> dict[str, object]:
        """List one variant's trend and effects by day, JSON-ready."""
        days, tables = self.trend.by_day, self.tables
        error = _Z * np.sqrt(days.variance[:, i])
        bounds = (days.value[:, i], days.value[:, i] - error, days.value[:, i] + error)
        lift, low, high = (self._lift(bound) for bound in bounds)
        return {
            "p_value": number(np.exp(self.trend.log_p[i])),
            "first_day": number(self._lift(self.trend.first)[i]),
            "last_day": number(self._lift(self.trend.last)[i]),
            "by_day": [
                {
                    "day": day,
                    "lift": number(lift[day]),
                    "low": number(low[day]),
                    "high": number(high[day]),
                    "visitors": int(tables.n[day, i]),
                    "conversions": int(tables.hits[day, i]),
                    "control_visitors": int(tables.control_n[day, i]),
                    "control_conversions": int(tables.control_hits[day, i]),
                }
                for day in range(len(lift))
            ],
        }

    def message(self, names: Sequence[str], fading: BoolArray, growing: BoolArray) -> str:
        """Sum up all variants: those whose effect fades, else those whose effect grows."""
        if fading.any():
            return (
                f"The effect fades over the days since exposure: {self._changes(names, fading)}. Rely on the "
                "lasting effect, and keep visitors in the experiment for longer."
            )
        if growing.any():
            return f"The effect grows over the days since exposure: {self._changes(names, growing)}."
        return "The effect shows no trend over the days since exposure."

    def _changes(self, names: Sequence[str], which: BoolArray) -> str:
        first, last = self._lift(self.trend.first), self._lift(self.trend.last)
        return "; ".join(
            f"'{names[i]}' changed conversions by about {signed(first[i])} on the day of first exposure, "
            f"and by {signed(last[i])} {len(self.tables.n) - 1} days later"
            for i in np.flatnonzero(which).tolist()
        )

    def _lift(self, log_odds_ratio: FloatArray) -> FloatArray:
        return lift_of_log_odds(log_odds_ratio, self.control_rate)
