"""Whether the effect on the primary goal lasts once visitors are used to a change."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.analysis.comparison.metrics import control_column, is_revenue, primary_row
from engine.analysis.evidence.days_since_exposure import FollowUp
from engine.analysis.health.check import CheckInput, CheckResult
from engine.analysis.results.formatting import signed
from engine.stats.arrays import BoolArray, FloatArray
from engine.stats.contingency import Tables, lift_of_log_odds
from engine.stats.frequentist.trend import Novelty, effect_by_day

# A trend this unlikely under a lasting effect is one; shared by the variants compared with the control.
NOVELTY_ALPHA: Final = 0.01
# With less, chance hides any trend: days since exposure, and conversions of an arm.
MIN_DAYS: Final = 3
MIN_CONVERSIONS: Final = 25
# Intervals of single days are there to be looked at: 95%, pointwise.
_Z: Final = 1.959964


def novelty(subject: CheckInput) -> CheckResult:
    """Warn where the effect on the primary goal's conversions fades with the days since first exposure.

    `details` have the effect of each variant by day, as changes of the control's conversion rate a day over
    all days (shares, with pointwise 95% intervals), and what the trend makes of the first day and the last.
    Bonferroni over the variants; the test is `effect_by_day`'s, for one look.
    """
    why = _why_not(subject)
    control, followed = control_column(subject.experiment), subject.evidence.follow_up
    if why is not None or control is None or followed is None:
        return _nothing(why or "When visitors converted after their first exposure is not known here.")
    judged = _judged(followed, control)
    if len(followed.at_risk) < MIN_DAYS or not judged:
        return _nothing(
            "Too few days since exposure, or conversions on them, to see whether the effect lasts."
        )
    reading = _Reading.of(followed, control, judged)
    names = [subject.experiment.variants[variant].name for variant in judged]
    alpha = NOVELTY_ALPHA / len(judged)
    fading, growing = reading.trend.fades(alpha), reading.trend.grows(alpha)
    details = {
        "days": len(followed.at_risk),
        "variants": {
            name: {"fades": bool(fading[i]), "grows": bool(growing[i]), **reading.told(i)}
            for i, name in enumerate(names)
        },
    }
    return CheckResult("warning" if fading.any() else "ok", reading.in_words(names, fading, growing), details)


def _why_not(subject: CheckInput) -> str | None:
    """Why days since exposure would say nothing of this experiment, if they would not."""
    experiment = subject.experiment
    goal = primary_row(experiment)
    if goal is None or is_revenue(experiment)[goal]:
        return "Only conversions of a primary goal are followed by days since exposure."
    if experiment.traffic_strategy == "bandit" or subject.evidence.epochs is not None:
        return "Weights have changed, so those who came early and late are not split alike."
    return None


def _nothing(why: str) -> CheckResult:
    return CheckResult("not_applicable", why, {})


def _judged(followed: FollowUp, control: int) -> list[int]:
    """The variants with conversions enough, where the control has."""
    enough = followed.conversions.sum(axis=0) >= MIN_CONVERSIONS
    return [variant for variant in np.flatnonzero(enough).tolist() if enough[control] and variant != control]


@dataclass(frozen=True, slots=True)
class _Reading:
    """The trend of each judged variant, and what log odds ratios are as changes of the control's rate."""

    trend: Novelty
    tables: Tables
    control_rate: FloatArray

    @classmethod
    def of(cls, followed: FollowUp, control: int, judged: Sequence[int]) -> "_Reading":
        hits, n = followed.conversions, followed.at_risk
        tables = Tables.of(hits[:, [control]], n[:, [control]], hits[:, judged], n[:, judged])
        rate = hits[:, control].sum() / n[:, control].sum()
        return cls(effect_by_day(tables), tables, np.asarray(rate))

    def told(self, i: int) -> dict[str, object]:
        """The facts of one variant, as JSON has them."""
        days, tables = self.trend.by_day, self.tables
        error = _Z * np.sqrt(days.variance[:, i])
        bounds = (days.value[:, i], days.value[:, i] - error, days.value[:, i] + error)
        lift, low, high = (self._lift(bound) for bound in bounds)
        return {
            "p_value": _number(np.exp(self.trend.log_p[i])),
            "first_day": _number(self._lift(self.trend.first)[i]),
            "last_day": _number(self._lift(self.trend.last)[i]),
            "by_day": [
                {
                    "day": day,
                    "lift": _number(lift[day]),
                    "low": _number(low[day]),
                    "high": _number(high[day]),
                    "visitors": int(tables.n[day, i]),
                    "conversions": int(tables.hits[day, i]),
                    "control_visitors": int(tables.control_n[day, i]),
                    "control_conversions": int(tables.control_hits[day, i]),
                }
                for day in range(len(lift))
            ],
        }

    def in_words(self, names: Sequence[str], fading: BoolArray, growing: BoolArray) -> str:
        """What to say of all variants together: those that fade, else those that grow."""
        if fading.any():
            return (
                f"The effect fades as visitors get used to the change: {self._changes(names, fading)}. Judge "
                "by what lasts, and let visitors be in the experiment for longer."
            )
        if growing.any():
            return f"The effect grows as visitors get used to the change: {self._changes(names, growing)}."
        return "The effect shows no trend over the days since first exposure."

    def _changes(self, names: Sequence[str], which: BoolArray) -> str:
        first, last = self._lift(self.trend.first), self._lift(self.trend.last)
        return "; ".join(
            f"'{names[i]}' changed conversions by about {signed(first[i])} on the day of the first exposure, "
            f"and by {signed(last[i])} {len(self.tables.n) - 1} days later"
            for i in np.flatnonzero(which).tolist()
        )

    def _lift(self, log_odds_ratio: FloatArray) -> FloatArray:
        return lift_of_log_odds(log_odds_ratio, self.control_rate)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
