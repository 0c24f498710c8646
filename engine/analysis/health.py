"""Whether the data can be trusted, check by check."""

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
from scipy import special

from engine.analysis.checking import Finding, Subject
from engine.analysis.event_health import bots, goals_fire
from engine.analysis.evidence import Evidence
from engine.analysis.figures import share
from engine.analysis.planning import POWER, RELEVANT_CHANGE, detectable_change
from engine.analysis.result import CheckStatus, HealthCheck
from engine.analysis.sequential_srm import check_split
from engine.design.experiment import Experiment

# A split this unlikely under the configured weights is a fault, not chance.
SAMPLE_RATIO_ALARM = 0.001
# The chi-square approximation needs this many expected visitors in every arm.
MIN_EXPECTED = 5
# Visitors set aside are not like the others, so the rest is biased once they are this share of all.
SEVERAL_VARIANTS_WARNING = 0.005
SEVERAL_VARIANTS_ALARM = 0.01
# Up to this many are a handful of test visits, whatever their share.
SEVERAL_VARIANTS_HANDFUL = 10
STALE_AFTER = timedelta(hours=24)
DAYS_OF_WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def check_health(experiment: Experiment, evidence: Evidence, now: datetime) -> tuple[HealthCheck, ...]:
    """Run every check, in the order of `CHECKS`; each is named as its function."""
    subject = Subject(experiment, evidence, now)
    findings = [(check.__name__, check(subject)) for check in CHECKS]
    return tuple(
        HealthCheck(check=name, status=found.status, message=found.message, details=dict(found.details))
        for name, found in findings
    )


def expected_shares(experiment: Experiment) -> list[float]:
    """The share of visitors each variant should get; zeros while all weights are."""
    total = sum(variant.weight for variant in experiment.variants)
    return [variant.weight / total if total > 0 else 0.0 for variant in experiment.variants]


def sample_ratio(subject: Subject) -> Finding:
    """Chi-square test of the visitors per variant against the weights; alarm at p < 0.001.

    `always_valid_p_value` is for whoever looks every day: below 0.001 in at most one sound test of a
    thousand, whenever one looks (see `sequential_srm`).
    """
    if subject.experiment.traffic_strategy == "bandit":
        return Finding("not_applicable", "A bandit moves the split on purpose, so it is not tested.", {})
    names = [variant.name for variant in subject.experiment.variants]
    shares, visitors = np.array(expected_shares(subject.experiment)), subject.evidence.visitors
    weighted = np.flatnonzero(shares > 0)
    seen = visitors[weighted].astype(np.float64)
    expected = shares[weighted] * seen.sum()
    if len(seen) < 2 or expected.min() < MIN_EXPECTED:
        return Finding("not_applicable", "Too few visitors yet to test how they are split.", {})
    chi_square = float(((seen - expected) ** 2 / expected).sum())
    p = float(special.chdtrc(len(seen) - 1, chi_square))
    details = {
        "p_value": p,
        "always_valid_p_value": float(np.exp(check_split(seen, shares[weighted]).log_p)),
        "chi_square": chi_square,
        "visitors": dict(zip(names, visitors.tolist(), strict=True)),
        "expected_shares": dict(zip(names, shares.tolist(), strict=True)),
    }
    if p >= SAMPLE_RATIO_ALARM:
        return Finding("ok", "Visitors are split as planned.", details)
    worst = int(np.abs(seen - expected).argmax())
    message = (
        f"Visitors are not split as planned: '{names[weighted[worst]]}' has {share(seen[worst] / seen.sum())}"
        f" of them instead of {share(shares[weighted[worst]])}. Chance does this less than once in 1,000"
        " tests, so something sends, loses or counts visitors unevenly."
    )
    return Finding("alarm", message, details)


def unweighted_arms(subject: Subject) -> Finding:
    """Alarm where a variant of weight zero has visitors: the split is not the one configured."""
    if subject.experiment.traffic_strategy == "bandit":
        return Finding(
            "not_applicable", "A bandit may have given a variant traffic that it no longer has.", {}
        )
    counted = zip(subject.experiment.variants, subject.evidence.visitors.tolist(), strict=True)
    wrong = {variant.name: count for variant, count in counted if variant.weight == 0 and count > 0}
    if not wrong:
        return Finding("ok", "Only variants that get traffic have visitors.", {})
    arms = ", ".join(f"'{arm}' ({count:,})" for arm, count in wrong.items())
    message = f"Visitors were counted in variants that get no traffic: {arms}."
    return Finding("alarm", message, {"visitors": wrong})


def several_variants(subject: Subject) -> Finding:
    """Alarm where more than 1% of the visitors saw several variants; warn from 0.5%."""
    aside = subject.evidence.several_variants
    everyone = aside + int(subject.evidence.visitors.sum())
    part = aside / everyone if everyone else 0.0
    details = {"visitors": aside, "share": part}
    if aside == 0:
        return Finding("ok", "Nobody saw several variants.", details)
    message = f"{aside:,} of {everyone:,} visitors ({share(part)}) saw several variants and are set aside."
    if aside <= SEVERAL_VARIANTS_HANDFUL or part < SEVERAL_VARIANTS_WARNING:
        return Finding("ok", message, details)
    advice = " Those left may not be comparable: check that visitors keep the variant they got first."
    return Finding("alarm" if part > SEVERAL_VARIANTS_ALARM else "warning", message + advice, details)


def freshness(subject: Subject) -> Finding:
    """Warn where a running experiment has had no new visitor for a day."""
    if subject.experiment.status != "running":
        return Finding("not_applicable", "The experiment is not running.", {})
    last = subject.evidence.last_exposure_at
    details = {"last_exposure_at": last.isoformat() if last else None}
    since = last or subject.experiment.started_at
    if since is not None and subject.now - since > STALE_AFTER:
        hours = (subject.now - since) / timedelta(hours=1)
        message = f"No new visitor for {hours:,.0f} hours: check that the page still loads the snippet."
        return Finding("warning", message, details)
    return Finding("ok", "Visitors are coming in." if last else "Waiting for the first visitor.", details)


def underpowered(subject: Subject) -> Finding:
    """Warn where a tenth more of the primary metric would be missed more often than one time in five."""
    change = detectable_change(subject.experiment, subject.evidence)
    if change is None:
        return Finding("not_applicable", "Not enough data yet to say which change would be found.", {})
    message = f"With the visitors so far, a change of {share(change)} would be found four times in five."
    status: CheckStatus = "ok" if change <= RELEVANT_CHANGE else "warning"
    return Finding(status, message, {"detectable_change": change, "power": POWER})


def day_of_week_cover(subject: Subject) -> Finding:
    """Warn where some day of the week has no visitor yet: people behave differently on Sundays."""
    daily = subject.evidence.daily
    seen = [daily.days[i] for i in np.flatnonzero(daily.visitors.sum(axis=1))]
    if not seen:
        return Finding("not_applicable", "There are no days to look at.", {})
    weekdays = {day.weekday() for day in seen}
    missing = [name for i, name in enumerate(DAYS_OF_WEEK) if i not in weekdays]
    details = {"days": len(seen), "missing": missing}
    if not missing:
        return Finding("ok", f"The {len(seen)} days with visitors cover every day of the week.", details)
    message = f"No visitors yet on {', '.join(missing)}: a whole week shows every kind of visitor."
    return Finding("warning", message, details)


CHECKS: tuple[Callable[[Subject], Finding], ...] = (
    sample_ratio,
    unweighted_arms,
    several_variants,
    bots,
    freshness,
    goals_fire,
    underpowered,
    day_of_week_cover,
)
