"""Incoming events: bots, freshness, and goals that stopped firing."""

from datetime import timedelta

import numpy as np

from engine.analysis.health.check_result import CheckInput, CheckResult
from engine.analysis.results.formatting import share

# From this share on, unknown bots are likely among the visitors counted, too.
BOTS_WARNING = 0.30
STALE_AFTER = timedelta(hours=24)
# So many conversions expected and none recorded: chance does that less than once in 20,000 times (exp(-10)).
MISSED_CONVERSIONS = 10.0


def bots(check_input: CheckInput) -> CheckResult:
    """Warn where 30% or more of all visitors are known bots; they are counted nowhere else."""
    flagged = check_input.evidence.bots
    everyone = flagged + int(check_input.evidence.visitors.sum())
    part = flagged / everyone if everyone else 0.0
    details = {"visitors": flagged, "share": part}
    if flagged == 0:
        return CheckResult("ok", "No bots were detected.", details)
    message = f"{flagged:,} of {everyone:,} visitors ({share(part)}) are known bots and excluded."
    if part < BOTS_WARNING:
        return CheckResult("ok", message, details)
    clients = "the rows are of" if check_input.evidence.is_imported else "call the page"
    return CheckResult(
        "warning", f"{message} Undetected bots are likely, too: check which clients {clients}.", details
    )


def freshness(check_input: CheckInput) -> CheckResult:
    """Warn where a running experiment has had no new visitor for a day; not where its data are complete."""
    if check_input.experiment.status != "running":
        return CheckResult("not_applicable", "The experiment is not running.", {})
    if check_input.sample.source == "finished":
        return CheckResult("not_applicable", "The data are complete: no new visitors are expected.", {})
    last = check_input.evidence.last_exposure_at
    details = {"last_exposure_at": last.isoformat() if last else None}
    since = last or check_input.experiment.started_at
    if since is not None and check_input.now - since > STALE_AFTER:
        hours = (check_input.now - since) / timedelta(hours=1)
        advice = (
            "import newer rows, or complete the experiment"
            if check_input.evidence.is_imported
            else "check that the page still loads the snippet"
        )
        return CheckResult("warning", f"No new visitor for {hours:,.0f} hours: {advice}.", details)
    return CheckResult("ok", "Visitors are coming in." if last else "Waiting for the first visitor.", details)


def sources_imported(check_input: CheckInput) -> CheckResult:
    """Alarm where visitors are imported, and events that belong to them are not."""
    if check_input.evidence.is_table:
        return CheckResult("not_applicable", "A table has all of its events.", {})
    missing = check_input.evidence.missing_sources
    details = {"sources": list(missing)}
    if not missing:
        return CheckResult("ok", "No import of events is missing.", details)
    message = f"Exposures were imported, and the newest events of {', '.join(missing)} are not counted yet."
    return CheckResult("alarm", message, details)


def goals_fire(check_input: CheckInput) -> CheckResult:
    """Warn where a goal that had conversions has stopped having any while visitors still come."""
    days = check_input.evidence.daily.days
    if check_input.experiment.status != "running" or len(days) < 2:
        return CheckResult(
            "not_applicable", "There are no complete days of a running experiment to check.", {}
        )
    silent = _silent_goals(check_input)
    if not silent:
        return CheckResult("ok", "Every goal that had conversions still has them.", {"last_conversion": {}})
    names = ", ".join(f"{name} (last on {day})" for name, day in silent.items())
    is_imported = check_input.evidence.is_imported
    advice = "that newer rows have them" if is_imported else "that the event is still sent"
    message = f"Conversions stopped: {names}. Check {advice}."
    return CheckResult("warning", message, {"last_conversion": silent})


def _silent_goals(check_input: CheckInput) -> dict[str, str]:
    """Find the day of the last conversion of each goal without the conversions to be expected since.

    Today is not over, so it is left out. Since the last day with a conversion, as many are expected as
    visitors came since, at the rate of the days before.
    """
    daily, silent = check_input.evidence.daily, {}
    visitors = daily.visitors[:-1].sum(axis=1)
    by_goal = daily.conversions.sum(axis=2).T.tolist()
    for goal, conversions in zip(check_input.experiment.goals, by_goal, strict=True):
        active = np.flatnonzero(conversions[:-1])
        if active.size == 0 or conversions[-1] > 0:
            continue
        last = int(active[-1])
        rate = sum(conversions[: last + 1]) / max(int(visitors[: last + 1].sum()), 1)
        if rate * int(visitors[last + 1 :].sum()) >= MISSED_CONVERSIONS:
            silent[goal.name] = daily.days[last].isoformat()
    return silent
