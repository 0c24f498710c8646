"""Concentration of revenue: one visitor's share of a variant's revenue."""

from typing import Final

import numpy as np

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# One visitor with more than this share of a variant's revenue decides its mean.
LARGEST_SHARE: Final = 0.05
# Among few paying visitors everyone has a large share: only so many times the average one is unusual. It
# decides below 500 paying visitors, where 25 times the average is more than 5%.
TIMES_THE_AVERAGE: Final = 25


def revenue_concentration(check_input: CheckInput) -> CheckResult:
    """Warn where one visitor has over 5% of the revenue of a variant, and 25 times that of an average payer.

    Revenue that is capped by `cap_percentile` is not tested: no visitor decides it. `details` have the
    shares by goal and variant.
    """
    largest, plan = check_input.evidence.largest_cents, check_input.plan
    goals = [
        row
        for row, goal in enumerate(check_input.experiment.goals)
        if plan.is_revenue[row] and goal.tracking.get("cap_percentile") is None
    ]
    if largest is None or not goals:
        return CheckResult("not_applicable", "There is no uncapped revenue by visitor to test.", {})
    totals = check_input.evidence.totals
    total, paying = totals.revenue.total, totals.conversions
    shares = np.divide(largest, total, out=np.zeros(total.shape), where=total > 0)
    least = np.maximum(LARGEST_SHARE, TIMES_THE_AVERAGE / np.maximum(paying, 1))
    names = [variant.name for variant in check_input.experiment.variants]
    found = {
        check_input.experiment.goals[row].name: {
            names[column]: float(shares[row, column])
            for column in np.flatnonzero(shares[row] > least[row]).tolist()
        }
        for row in goals
    }
    details = {"shares": {goal: by_variant for goal, by_variant in found.items() if by_variant}}
    if not details["shares"]:
        return CheckResult("ok", "No single visitor has an unusual share of the revenue.", details)
    senders = _senders(check_input)
    described = "; ".join(
        f"{share(part)} of the revenue of '{variant}' ({goal}{senders.get((goal, variant), '')})"
        for goal, by_variant in details["shares"].items()
        for variant, part in by_variant.items()
    )
    return CheckResult(
        "warning",
        f"One visitor has {described}: check for test orders and resellers, or set cap_percentile before the"
        " next test.",
        details,
    )


def _senders(check_input: CheckInput) -> dict[tuple[str, str], str]:
    """Name the senders of the largest revenue, by names of goal and variant; empty where it is not known."""
    known = check_input.evidence.senders
    if known is None:
        return {}
    experiment = check_input.experiment
    return {
        (experiment.goals[goal].name, experiment.variants[variant].name): f", sent by {sender}"
        for (goal, variant), sender in known.largest.items()
    }
