"""Users whose visitor ids saw different variants before they were joined."""

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# Never an alarm: under equal weights every variant loses the same share of users to conflicts, and under
# unequal ones the sample ratio shows the difference.
IDENTITY_CONFLICTS_WARNING = 0.01
# Up to this many are a few users, whatever their share.
IDENTITY_CONFLICTS_FEW = 10


def identity_conflicts(check_input: CheckInput) -> CheckResult:
    """Warn where from 1% of all visitors are users with different variants on several devices."""
    aside = check_input.evidence.identity_conflicts
    everyone = aside + int(check_input.evidence.visitors.sum())
    part = aside / everyone if everyone else 0.0
    details = {"visitors": aside, "share": part}
    if aside == 0:
        return CheckResult("ok", "No user saw different variants on different devices.", details)
    message = (
        f"{aside:,} of {everyone:,} visitors ({share(part)}) are users with different variants on several "
        "devices and are excluded."
    )
    if aside <= IDENTITY_CONFLICTS_FEW or part < IDENTITY_CONFLICTS_WARNING:
        return CheckResult("ok", message, details)
    advice = " Identify users before their first exposure: then all of their devices get the first variant."
    return CheckResult("warning", message + advice, details)
