"""Whether the events that come in are those of people, and still those of every goal."""

import numpy as np

from engine.analysis.health.check import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# From this share on, visitors who are no people are likely to be missed among those counted, too.
BOTS_WARNING = 0.30
# So many conversions expected and none seen: chance does that less than once in 20,000 times (exp(-10)).
MISSED_CONVERSIONS = 10.0


def bots(subject: CheckInput) -> CheckResult:
    """Warn where 30% or more of all visitors are known bots; they are counted nowhere else."""
    flagged = subject.evidence.bots
    everyone = flagged + int(subject.evidence.visitors.sum())
    part = flagged / everyone if everyone else 0.0
    details = {"visitors": flagged, "share": part}
    if flagged == 0:
        return CheckResult("ok", "No bots were seen.", details)
    message = f"{flagged:,} of {everyone:,} visitors ({share(part)}) are known bots and left out."
    if part < BOTS_WARNING:
        return CheckResult("ok", message, details)
    return CheckResult("warning", message + " So many may hide others: check what calls the page.", details)


def goals_fire(subject: CheckInput) -> CheckResult:
    """Warn where a goal that had conversions has stopped having any while visitors still come.

    Today is not over, so it is left out. Since the last day with a conversion, as many are expected as
    visitors came since, at the rate of the days before.
    """
    daily = subject.evidence.daily
    if subject.experiment.status != "running" or len(daily.days) < 2:
        return CheckResult(
            "not_applicable", "There are no whole days of a running experiment to look at.", {}
        )
    visitors = daily.visitors[:-1].sum(axis=1)
    silent = {}
    for goal, conversions in zip(
        subject.experiment.goals, daily.conversions.sum(axis=2).T.tolist(), strict=True
    ):
        active = np.flatnonzero(conversions[:-1])
        if active.size == 0 or conversions[-1] > 0:
            continue
        last = int(active[-1])
        rate = sum(conversions[: last + 1]) / max(int(visitors[: last + 1].sum()), 1)
        if rate * int(visitors[last + 1 :].sum()) >= MISSED_CONVERSIONS:
            silent[goal.name] = daily.days[last].isoformat()
    if not silent:
        return CheckResult("ok", "Every goal that had conversions still has them.", {"last_conversion": {}})
    names = ", ".join(f"{name} (last on {day})" for name, day in silent.items())
    message = f"No conversions any more: {names}. Check that the event is still sent."
    return CheckResult("warning", message, {"last_conversion": silent})
