"""Visitors who saw several variants."""

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# Visitors set aside are not like the others, so the rest is biased once they are this share of all.
SEVERAL_VARIANTS_WARNING = 0.005
SEVERAL_VARIANTS_ALARM = 0.01
# Up to this many are a few test visits, whatever their share; of clusters, which are few, none are.
SEVERAL_VARIANTS_FEW = 10


def several_variants(check_input: CheckInput) -> CheckResult:
    """Alarm where more than 1% of the visitors, or clusters, saw several variants; warn from 0.5%."""
    aside = check_input.evidence.several_variants
    everyone = aside + int(check_input.evidence.assigned.sum())
    part = aside / everyone if everyone else 0.0
    clusters, unit = check_input.evidence.clusters, check_input.evidence.noun
    if clusters is None:
        details = {"visitors": aside, "share": part}
        saw = "saw several variants and are excluded."
    else:
        details = {f"{unit}s": aside, "visitors": clusters.visitors_of_several, "share": part}
        saw = f"saw several variants and are excluded, with {clusters.visitors_of_several:,} visitors."
    if aside == 0:
        return CheckResult("ok", f"No {unit} saw several variants.", details)
    message = f"{aside:,} of {everyone:,} {unit}s ({share(part)}) {saw}"
    few = SEVERAL_VARIANTS_FEW if clusters is None else 0
    if aside <= few or part < SEVERAL_VARIANTS_WARNING:
        return CheckResult("ok", message, details)
    advice = f" The others may not be comparable: check that {unit}s keep their first variant."
    return CheckResult("alarm" if part > SEVERAL_VARIANTS_ALARM else "warning", message + advice, details)
