"""Power to detect a relevant change with the visitors so far."""

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share
from engine.design.planning.required_sample import POWER


def underpowered(check_input: CheckInput) -> CheckResult:
    """Warn where the power to detect the minimum effect in the primary metric is below 80%."""
    change = check_input.sample.detectable_now
    if change is None:
        return CheckResult("not_applicable", "Not enough data yet to compute the power.", {})
    message = f"{POWER:.0%} power to detect a change of {share(change)} with the visitors so far."
    return CheckResult(
        "ok" if change <= check_input.sample.minimum_effect else "warning",
        message,
        {"detectable_change": change, "power": POWER},
    )
