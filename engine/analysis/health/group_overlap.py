"""Visitors counted in two tests of an exclusion group."""

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# Never an alarm: slots are independent of the variant, so every variant loses and gains the same share.
GROUP_OVERLAP_WARNING = 0.01
# Up to this many are a few people who changed devices.
GROUP_OVERLAP_FEW = 10


def group_overlap(check_input: CheckInput) -> CheckResult:
    """Warn where from 1% of the visitors are in another test of the exclusion group."""
    found = check_input.evidence.in_other_tests
    if check_input.experiment.group_slots is None:
        return CheckResult("not_applicable", "The experiment is in no exclusion group.", {})
    if found is None:
        return CheckResult("not_applicable", "Visitors of the other tests of the group are not known.", {})
    everyone = int(check_input.evidence.visitors.sum())
    part = found / everyone if everyone else 0.0
    details = {"visitors": found, "share": part}
    if found == 0:
        return CheckResult("ok", "No visitor is in another test of the exclusion group.", details)
    verb = "is" if found == 1 else "are"
    message = (
        f"{found:,} of {everyone:,} visitors ({share(part)}) {verb} in another test of the exclusion"
        " group, too."
    )
    if found <= GROUP_OVERLAP_FEW or part < GROUP_OVERLAP_WARNING:
        return CheckResult("ok", message, details)
    advice = " They were assigned elsewhere, as imports are: divide visitors by the group's slots there, too."
    return CheckResult("warning", message + advice, details)
