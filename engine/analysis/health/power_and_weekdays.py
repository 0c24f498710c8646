"""Sufficiency of the data so far: power, and every day of the week."""

import numpy as np

from engine.analysis.comparison.power import POWER, RELEVANT_CHANGE
from engine.analysis.health.check import CheckInput, CheckResult
from engine.analysis.results.formatting import share

DAYS_OF_WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def underpowered(check_input: CheckInput) -> CheckResult:
    """Warn where the power to detect a change of 10% in the primary metric is below 80%."""
    change = check_input.power.detectable_change
    if change is None:
        return CheckResult("not_applicable", "Not enough data yet to say which change would be found.", {})
    message = f"With the visitors so far, a change of {share(change)} would be found four times in five."
    return CheckResult(
        "ok" if change <= RELEVANT_CHANGE else "warning",
        message,
        {"detectable_change": change, "power": POWER},
    )


def day_of_week_cover(check_input: CheckInput) -> CheckResult:
    """Warn where some day of the week has no visitor yet: behaviour differs on Sundays."""
    daily = check_input.evidence.daily
    days = [daily.days[i] for i in np.flatnonzero(daily.visitors.sum(axis=1))]
    if not days:
        return CheckResult("not_applicable", "There are no days to look at.", {})
    weekdays = {day.weekday() for day in days}
    missing = [name for i, name in enumerate(DAYS_OF_WEEK) if i not in weekdays]
    details = {"days": len(days), "missing": missing}
    if not missing:
        return CheckResult("ok", f"The {len(days)} days with visitors cover every day of the week.", details)
    message = f"No visitors yet on {', '.join(missing)}: a whole week shows every kind of visitor."
    return CheckResult("warning", message, details)
