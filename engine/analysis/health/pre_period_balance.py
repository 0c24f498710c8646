"""Balance of the variants before the first exposure: an A/A test on the pre-period."""

import numpy as np

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.stats.cuped import log_p_before

# Arms this different beforehand were not filled by chance: a fault, as a sample ratio mismatch is.
IMBALANCE_ALARM = 0.001


def alike_before(check_input: CheckInput) -> CheckResult:
    """Compare the variants before their first exposure: an A/A test; alarm at p < 0.001.

    Every goal and variant is a comparison, so p is held against 0.001 over their number (Bonferroni).
    """
    values, control = check_input.evidence.values, check_input.plan.control
    if values is None or control is None or not values.before.n.any():
        return CheckResult("not_applicable", "There is no data from before the first exposure.", {})
    log_p = log_p_before(values.before, control=control)
    tested = ~np.isnan(log_p)
    if not tested.any():
        return CheckResult("not_applicable", "No visitor was active before the first exposure.", {})
    goal, variant = np.unravel_index(int(np.nanargmin(log_p)), log_p.shape)
    smallest = float(np.exp(log_p[goal, variant]))
    details = {"p_value": smallest, "comparisons": int(tested.sum())}
    if smallest >= IMBALANCE_ALARM / tested.sum():
        return CheckResult("ok", "The variants were balanced before the experiment.", details)
    variant_name = check_input.experiment.variants[variant].name
    message = (
        f"'{variant_name}' and the control differed on {check_input.experiment.goals[goal].name} before the"
        " first exposure. By chance this happens in fewer than 1 of 1,000 tests, so their visitors are not"
        " comparable."
    )
    return CheckResult("alarm", message, details)
