"""Cover of every day of the week."""

import numpy as np

from engine.analysis.health.check_result import CheckInput, CheckResult

DAYS_OF_WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def day_of_week_cover(check_input: CheckInput) -> CheckResult:
    """Warn where some day of the week has no visitor yet: behaviour differs on Sundays."""
    daily = check_input.evidence.daily
    days = [daily.days[i] for i in np.flatnonzero(daily.visitors.sum(axis=1))]
    if not days:
        return CheckResult("not_applicable", "There are no days with visitors yet.", {})
    weekdays = {day.weekday() for day in days}
    missing = [name for i, name in enumerate(DAYS_OF_WEEK) if i not in weekdays]
    details = {"days": len(days), "missing": missing}
    if not missing:
        return CheckResult("ok", f"The {len(days)} days with visitors cover every day of the week.", details)
    message = (
        f"No visitors yet on {', '.join(missing)}: run for full weeks, because visitors differ by weekday."
    )
    return CheckResult("warning", message, details)
