"""Visitors in variants without weight."""

import numpy as np

from engine.analysis.health.check_result import CheckInput, CheckResult

# Visitors may see a variant long after they were assigned to it: up to this share of an epoch's, or so many,
# may come to one that has no weight any more.
LATE_SHARE = 0.01
LATE_COUNT = 10


def unweighted_arms(check_input: CheckInput) -> CheckResult:
    """Alarm where a variant of weight zero has visitors: the split is not the one configured.

    A variant that had weight before may still get some first exposures of visitors assigned to it then.
    """
    visitors, has_weight = check_input.split.visitors, check_input.split.shares > 0
    stray = np.where(has_weight, 0, visitors)
    had_weight = np.cumsum(has_weight, axis=0) > 0
    late = np.maximum(LATE_COUNT, LATE_SHARE * visitors.sum(axis=1, keepdims=True))
    counts = np.where(had_weight & (stray <= late), 0, stray).sum(axis=0).tolist()
    names = [variant.name for variant in check_input.experiment.variants]
    wrong = {name: count for name, count in zip(names, counts, strict=True) if count > 0}
    if not wrong:
        return CheckResult("ok", "Only variants with traffic have visitors.", {})
    arms = ", ".join(f"'{arm}' ({count:,})" for arm, count in wrong.items())
    message = f"Visitors were counted in variants without traffic: {arms}."
    return CheckResult("alarm", message, {"visitors": wrong})
