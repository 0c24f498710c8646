"""Visitors of several units, such as accounts, or of none, where units are compared."""

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.health.several_variants import (
    SEVERAL_VARIANTS_ALARM,
    SEVERAL_VARIANTS_FEW,
    SEVERAL_VARIANTS_WARNING,
)
from engine.analysis.results.formatting import share


def several_units(check_input: CheckInput) -> CheckResult:
    """Alarm where more than 1% of the visitors are of several units, or of none; warn from 0.5%."""
    clusters = check_input.evidence.clusters
    if clusters is None:
        return CheckResult("not_applicable", "Visitors are compared, and no units of them.", {})
    several, none = clusters.in_several, clusters.in_none
    everyone = int(check_input.evidence.visitors.sum()) + clusters.visitors_of_several + several + none
    part = (several + none) / everyone if everyone else 0.0
    details = {"visitors_in_several": several, "visitors_in_none": none, "share": part}
    if several + none == 0:
        return CheckResult("ok", f"Each visitor belongs to one {clusters.by}.", details)
    message = (
        f"Of {everyone:,} visitors {several:,} were seen with more than one {clusters.by}, and {none:,} with"
        f" none; they ({share(part)}) are excluded, as what they did belongs to no single one."
    )
    if several + none <= SEVERAL_VARIANTS_FEW or part < SEVERAL_VARIANTS_WARNING:
        return CheckResult("ok", message, details)
    advice = " The others may not be comparable: send the same id with each event of a visitor."
    return CheckResult("alarm" if part > SEVERAL_VARIANTS_ALARM else "warning", message + advice, details)
