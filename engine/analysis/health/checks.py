"""Whether the data can be trusted, check by check."""

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np

from engine.analysis.comparison.power import POWER, RELEVANT_CHANGE, detectable_change
from engine.analysis.evidence.totals import Evidence
from engine.analysis.health.check import CheckInput, CheckResult
from engine.analysis.health.events import bots, goals_fire
from engine.analysis.health.novelty import novelty
from engine.analysis.health.pre_period_balance import alike_before
from engine.analysis.health.sample_ratio import sample_ratio, unweighted_arms
from engine.analysis.health.segment_sample_ratio import sample_ratio_by_segment
from engine.analysis.results.formatting import share
from engine.analysis.results.report import CheckStatus, HealthCheck
from engine.design.experiment import Experiment

# Visitors set aside are not like the others, so the rest is biased once they are this share of all.
SEVERAL_VARIANTS_WARNING = 0.005
SEVERAL_VARIANTS_ALARM = 0.01
# Up to this many are a handful of test visits, whatever their share.
SEVERAL_VARIANTS_HANDFUL = 10
STALE_AFTER = timedelta(hours=24)
DAYS_OF_WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def check_health(experiment: Experiment, evidence: Evidence, now: datetime) -> tuple[HealthCheck, ...]:
    """Run every check, in the order of `CHECKS`; each is named as its function."""
    subject = CheckInput(experiment, evidence, now)
    findings = [(check.__name__, check(subject)) for check in CHECKS]
    return tuple(
        HealthCheck(check=name, status=found.status, message=found.message, details=dict(found.details))
        for name, found in findings
    )


def several_variants(subject: CheckInput) -> CheckResult:
    """Alarm where more than 1% of the visitors saw several variants; warn from 0.5%."""
    aside = subject.evidence.several_variants
    everyone = aside + int(subject.evidence.visitors.sum())
    part = aside / everyone if everyone else 0.0
    details = {"visitors": aside, "share": part}
    if aside == 0:
        return CheckResult("ok", "Nobody saw several variants.", details)
    message = f"{aside:,} of {everyone:,} visitors ({share(part)}) saw several variants and are set aside."
    if aside <= SEVERAL_VARIANTS_HANDFUL or part < SEVERAL_VARIANTS_WARNING:
        return CheckResult("ok", message, details)
    advice = " Those left may not be comparable: check that visitors keep the variant they got first."
    return CheckResult("alarm" if part > SEVERAL_VARIANTS_ALARM else "warning", message + advice, details)


def freshness(subject: CheckInput) -> CheckResult:
    """Warn where a running experiment has had no new visitor for a day."""
    if subject.experiment.status != "running":
        return CheckResult("not_applicable", "The experiment is not running.", {})
    last = subject.evidence.last_exposure_at
    details = {"last_exposure_at": last.isoformat() if last else None}
    since = last or subject.experiment.started_at
    if since is not None and subject.now - since > STALE_AFTER:
        hours = (subject.now - since) / timedelta(hours=1)
        message = f"No new visitor for {hours:,.0f} hours: check that the page still loads the snippet."
        return CheckResult("warning", message, details)
    return CheckResult("ok", "Visitors are coming in." if last else "Waiting for the first visitor.", details)


def underpowered(subject: CheckInput) -> CheckResult:
    """Warn where a tenth more of the primary metric would be missed more often than one time in five."""
    change = detectable_change(subject.experiment, subject.evidence)
    if change is None:
        return CheckResult("not_applicable", "Not enough data yet to say which change would be found.", {})
    message = f"With the visitors so far, a change of {share(change)} would be found four times in five."
    status: CheckStatus = "ok" if change <= RELEVANT_CHANGE else "warning"
    return CheckResult(status, message, {"detectable_change": change, "power": POWER})


def day_of_week_cover(subject: CheckInput) -> CheckResult:
    """Warn where some day of the week has no visitor yet: people behave differently on Sundays."""
    daily = subject.evidence.daily
    seen = [daily.days[i] for i in np.flatnonzero(daily.visitors.sum(axis=1))]
    if not seen:
        return CheckResult("not_applicable", "There are no days to look at.", {})
    weekdays = {day.weekday() for day in seen}
    missing = [name for i, name in enumerate(DAYS_OF_WEEK) if i not in weekdays]
    details = {"days": len(seen), "missing": missing}
    if not missing:
        return CheckResult("ok", f"The {len(seen)} days with visitors cover every day of the week.", details)
    message = f"No visitors yet on {', '.join(missing)}: a whole week shows every kind of visitor."
    return CheckResult("warning", message, details)


CHECKS: tuple[Callable[[CheckInput], CheckResult], ...] = (
    sample_ratio,
    sample_ratio_by_segment,
    unweighted_arms,
    several_variants,
    alike_before,
    bots,
    freshness,
    goals_fire,
    underpowered,
    day_of_week_cover,
    novelty,
)
