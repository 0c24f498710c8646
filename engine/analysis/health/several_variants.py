"""Visitors who saw several variants."""

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# Visitors set aside are not like the others, so the rest is biased once they are this share of all.
SEVERAL_VARIANTS_WARNING = 0.005
SEVERAL_VARIANTS_ALARM = 0.01
# Up to this many are a few test visits, whatever their share.
SEVERAL_VARIANTS_FEW = 10


def several_variants(check_input: CheckInput) -> CheckResult:
    """Alarm where more than 1% of the visitors saw several variants; warn from 0.5%."""
    aside = check_input.evidence.several_variants
    everyone = aside + int(check_input.evidence.visitors.sum())
    part = aside / everyone if everyone else 0.0
    details = {"visitors": aside, "share": part}
    if aside == 0:
        return CheckResult("ok", "No visitor saw several variants.", details)
    message = f"{aside:,} of {everyone:,} visitors ({share(part)}) saw several variants and are excluded."
    if aside <= SEVERAL_VARIANTS_FEW or part < SEVERAL_VARIANTS_WARNING:
        return CheckResult("ok", message, details)
    advice = " The others may not be comparable: check that visitors keep their first variant."
    return CheckResult("alarm" if part > SEVERAL_VARIANTS_ALARM else "warning", message + advice, details)
