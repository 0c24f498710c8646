"""Power to detect a relevant change with the visitors so far."""

from typing import Final

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share
from engine.design.planning.required_sample import POWER

# Beyond a doubling a percentage of power tells nothing.
LARGEST_SENSIBLE: Final = 1.0


def underpowered(check_input: CheckInput) -> CheckResult:
    """Warn where the power to detect the minimum effect in the primary metric is below 80%.

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
    return CheckResult(
        "ok" if change <= check_input.sample.minimum_effect else "warning",
        message,
        details,
    )


def _too_few(check_input: CheckInput) -> str:
    """Say that only changes beyond any sensible size would be found."""
    row = check_input.plan.primary or 0
    goal, evidence = check_input.experiment.goals[row], check_input.evidence
    word = "conversions" if goal.unit == "share" else "visitors with a value"
    counted = f"{evidence.conversions[row].sum():,} {word} among {evidence.trials[row].sum():,} visitors"
    return (
        f"The test cannot detect any sensible change of {goal.name} yet: with {counted}, even a doubling"
        " would probably be missed."
    )
