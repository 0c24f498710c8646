"""Whether the arms were alike before anybody saw anything."""

import numpy as np

from engine.analysis.comparison.metrics import control_column
from engine.analysis.health.check import CheckInput, CheckResult
from engine.stats.cuped import log_p_before

# Arms this unlike beforehand were not filled by chance: a fault, as a broken sample ratio is.
UNLIKE_ALARM = 0.001


def alike_before(subject: CheckInput) -> CheckResult:
    """Compare what the arms did before their first exposure: an A/A test; alarm at p < 0.001.

    Every goal and variant is a comparison, so p is held against 0.001 over their number (Bonferroni).
    """
    values, control = subject.evidence.values, control_column(subject.experiment)
    if values is None or control is None or not values.before.n.any():
        return CheckResult("not_applicable", "Nothing is known of the time before the first exposure.", {})
    log_p = log_p_before(values.before, control=control)
    tested = ~np.isnan(log_p)
    if not tested.any():
        return CheckResult("not_applicable", "Nobody did anything before the first exposure.", {})
    goal, variant = np.unravel_index(int(np.nanargmin(log_p)), log_p.shape)
    smallest = float(np.exp(log_p[goal, variant]))
    details = {"p_value": smallest, "comparisons": int(tested.sum())}
    if smallest >= UNLIKE_ALARM / tested.sum():
        return CheckResult("ok", "The variants were alike before the experiment.", details)
    names = subject.experiment.variants[variant].name, subject.experiment.goals[goal].name
    message = (
        f"'{names[0]}' and the control differed on {names[1]} before anybody saw a change. Chance does this"
        " less than once in 1,000 tests, so the visitors of the two are not comparable."
    )
    return CheckResult("alarm", message, details)
