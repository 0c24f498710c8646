"""Power to detect a relevant change with the visitors so far, and to show guardrails within their margins."""

from typing import Final

import numpy as np

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share
from engine.design.planning.required_sample import POWER

# Beyond a doubling a percentage of power tells nothing.
LARGEST_SENSIBLE: Final = 1.0


def underpowered(check_input: CheckInput) -> CheckResult:
    """Warn where the power to detect the minimum effect in the primary metric is below 80%.

    Also where the plan is too small to show that guardrails are within their margins, if they must be.
    Not where the experiment is decided: what was found, or ruled out, needs no more power.
    """
    change = check_input.sample.detectable_now
    if change is None:
        return CheckResult("not_applicable", "Not enough data yet to compute the power.", {})
    details = {"detectable_change": change, "power": POWER}
    if check_input.is_decided:
        return CheckResult("not_applicable", "The result is decided: no more power is needed.", details)
    if change > LARGEST_SENSIBLE:
        return CheckResult("warning", _too_few(check_input), details)
    message = f"{POWER:.0%} power to detect a change of {share(change)} with the visitors so far."
    is_enough = change <= check_input.sample.minimum_effect
    if check_input.sample.is_guardrail_underpowered.any():
        weakest = float(np.nanmin(check_input.sample.guardrail_power))
        least = check_input.sample.planned_guardrail_power
        details["guardrail_power"] = weakest
        message += (
            f" By the plan a guardrail without harm is shown to be within its margin with {share(weakest)}"
            f" power only, where {share(least)} is needed: plan more visitors, or a wider margin."
        )
        is_enough = False
    return CheckResult("ok" if is_enough else "warning", message, details)


def _too_few(check_input: CheckInput) -> str:
    """Say that only changes beyond any sensible size would be found."""
    row = check_input.plan.primary or 0
    goal, evidence = check_input.experiment.goals[row], check_input.evidence
    word = "conversions" if goal.unit == "share" else "visitors with a value"
    counted = f"{evidence.conversions[row].sum():,} {word} among {evidence.trials[row].sum():,} visitors"
    if check_input.plan.in_clusters:
        counted += f" in {evidence.known_units[row].sum():,} {evidence.noun}s"
    return (
        f"The test cannot detect any sensible change of {goal.name} yet: with {counted}, even a doubling"
        " would probably be missed."
    )
