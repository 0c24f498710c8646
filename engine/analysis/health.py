"""Whether the data can be trusted, check by check."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from scipy import special

from engine.analysis.evidence import Evidence
from engine.analysis.judgement import is_revenue
from engine.analysis.multiplicity import effective_alpha
from engine.analysis.result import CheckStatus, HealthCheck
from engine.design.experiment import Experiment

# A split this unlikely under the configured weights is a fault, not chance.
SAMPLE_RATIO_ALARM = 0.001
# The chi-square approximation needs this many expected visitors in every arm.
MIN_EXPECTED = 5
# Set-aside visitors bias what is left once they are more than this share (and more than a handful).
SEVERAL_VARIANTS_WARNING = 0.005
SEVERAL_VARIANTS_ALARM = 0.01
SEVERAL_VARIANTS_HANDFUL = 10
STALE_AFTER = timedelta(hours=24)
# A change of a tenth of the control's rate or revenue: smaller ones are rarely worth a decision of their own.
RELEVANT_CHANGE = 0.10
POWER = 0.80
DAYS_OF_WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a check looks at."""

    experiment: Experiment
    evidence: Evidence
    now: datetime


def check_health(experiment: Experiment, evidence: Evidence, now: datetime) -> tuple[HealthCheck, ...]:
    """Run every check, in the order of `CHECKS`."""
    subject = Subject(experiment, evidence, now)
    return tuple(check(subject) for check in CHECKS)


def expected_shares(experiment: Experiment) -> list[float]:
    """The share of visitors each variant should get; zeros while all weights are."""
    total = sum(variant.weight for variant in experiment.variants)
    return [variant.weight / total if total > 0 else 0.0 for variant in experiment.variants]


def sample_ratio(subject: Subject) -> HealthCheck:
    """Chi-square test of the visitors per variant against the weights; alarm at p < 0.001."""
    name, experiment = "sample_ratio", subject.experiment
    if experiment.traffic_strategy == "bandit":
        return _check(name, "not_applicable", "A bandit moves the split on purpose, so it is not tested.")
    shares = np.array(expected_shares(experiment))
    weighted = shares > 0
    seen = subject.evidence.visitors[weighted].astype(float)
    expected = shares[weighted] * seen.sum()
    if len(seen) < 2 or expected.min() < MIN_EXPECTED:
        return _check(name, "not_applicable", "Too few visitors yet to test how they are split.")
    chi_square = float(((seen - expected) ** 2 / expected).sum())
    p = float(special.chdtrc(len(seen) - 1, chi_square))
    details = {
        "p_value": p,
        "chi_square": chi_square,
        "expected_shares": shares.tolist(),
        "observed_shares": (subject.evidence.visitors / seen.sum()).tolist(),
    }
    if p >= SAMPLE_RATIO_ALARM:
        return _check(name, "ok", "Visitors are split as the weights say.", **details)
    worst = int(np.abs(seen - expected).argmax())
    variant = [v for v, w in zip(experiment.variants, weighted, strict=True) if w][worst]
    message = (
        f"Visitors are not split as the weights say: '{variant.name}' has {seen[worst] / seen.sum():.1%} of them"
        f" instead of {expected[worst] / seen.sum():.1%}. Chance alone would do this less than once in"
        " 1,000 experiments, so something sends, loses or counts visitors unevenly."
    )
    return _check(name, "alarm", message, **details)


def unweighted_arms(subject: Subject) -> HealthCheck:
    """Alarm where a variant with weight zero has visitors: the split is not the one configured."""
    name = "unweighted_arms"
    if subject.experiment.traffic_strategy == "bandit":
        return _check(name, "not_applicable", "A bandit may take a variant's traffic away on purpose.")
    counted = zip(subject.experiment.variants, subject.evidence.visitors.tolist(), strict=True)
    wrong = {variant.name: count for variant, count in counted if variant.weight == 0 and count > 0}
    if not wrong:
        return _check(name, "ok", "Only variants with traffic have visitors.")
    arms = ", ".join(f"'{arm}' ({count:,})" for arm, count in wrong.items())
    return _check(
        name, "alarm", f"Visitors were counted in variants that get no traffic: {arms}.", visitors=wrong
    )


def several_variants(subject: Subject) -> HealthCheck:
    """Alarm where more than 1% of the visitors saw several variants, and warn from 0.5%."""
    aside = subject.evidence.several_variants
    everyone = aside + int(subject.evidence.visitors.sum())
    share = aside / everyone if everyone else 0.0
    details = {"visitors": aside, "share": share}
    if aside <= SEVERAL_VARIANTS_HANDFUL or share < SEVERAL_VARIANTS_WARNING:
        message = f"{aside:,} of {everyone:,} visitors saw several variants and are set aside."
        return _check(
            "several_variants", "ok", message if aside else "Nobody saw several variants.", **details
        )
    status: CheckStatus = "alarm" if share > SEVERAL_VARIANTS_ALARM else "warning"
    message = (
        f"{share:.1%} of the visitors ({aside:,}) saw several variants and are set aside: those who are left"
        " may not be comparable. Check that a visitor keeps the variant first assigned."
    )
    return _check("several_variants", status, message, **details)


def freshness(subject: Subject) -> HealthCheck:
    """Warn where a running experiment has had no new visitor for a day."""
    name, last = "freshness", subject.evidence.last_exposure_at
    if subject.experiment.status != "running":
        return _check(name, "not_applicable", "The experiment is not running.")
    details = {"last_exposure_at": last.isoformat() if last else None}
    since = last or subject.experiment.started_at
    if since is not None and subject.now - since > STALE_AFTER:
        hours = (subject.now - since) / timedelta(hours=1)
        message = f"No new visitor for {hours:,.0f} hours: check that the snippet still runs on the page."
        return _check(name, "warning", message, **details)
    return _check(
        name, "ok", "New visitors are coming in." if last else "Waiting for the first visitor.", **details
    )


def underpowered(subject: Subject) -> HealthCheck:
    """Warn where a change of a tenth of the primary metric would go unnoticed more often than one time in five."""
    name = "underpowered"
    change = detectable_change(subject.experiment, subject.evidence)
    if change is None:
        return _check(name, "not_applicable", "Not enough data yet to say which change could be found.")
    details = {"detectable_change": change, "power": POWER}
    message = f"With the visitors so far, a change of {change:.1%} or more would be found four times in five."
    return _check(name, "ok" if change <= RELEVANT_CHANGE else "warning", message, **details)


def detectable_change(experiment: Experiment, evidence: Evidence) -> float | None:
    """The smallest relative change of the primary metric found with 80% power against the smallest arm."""
    goal = next((i for i, goal in enumerate(experiment.goals) if goal.is_primary), None)
    control = next((i for i, variant in enumerate(experiment.variants) if variant.is_control), None)
    if goal is None or control is None or len(experiment.variants) < 2:
        return None
    n = evidence.visitors.astype(float)
    others = [i for i in range(len(n)) if i != control]
    smallest = min(n[i] for i in others)
    if min(smallest, n[control]) < 2:
        return None
    if is_revenue(experiment)[goal]:
        mean, variance = evidence.revenue.mean[goal, control], evidence.revenue.variance[goal, control]
    else:
        mean = evidence.conversions[goal, control] / n[control]
        variance = mean * (1.0 - mean)
    if mean <= 0 or variance <= 0:
        return None
    alpha = effective_alpha(experiment.confidence_level, len(experiment.variants))
    reach = special.ndtri(1.0 - alpha / 2.0) + special.ndtri(POWER)
    return float(reach * np.sqrt(variance * (1.0 / n[control] + 1.0 / smallest)) / mean)


def whole_weeks(subject: Subject) -> HealthCheck:
    """Warn where some day of the week has no visitor yet: people behave differently on Sundays."""
    name, daily = "day_of_week_cover", subject.evidence.daily
    days = [
        day for day, count in zip(daily.days, daily.visitors.sum(axis=1).tolist(), strict=True) if count > 0
    ]
    if not days:
        return _check(name, "not_applicable", "No days to look at.")
    missing = [DAYS_OF_WEEK[i] for i in range(7) if i not in {day.weekday() for day in days}]
    if not missing:
        return _check(
            name, "ok", f"The {len(days)} days with visitors cover every day of the week.", missing=missing
        )
    message = f"No visitors yet on {', '.join(missing)}: a whole week shows all kinds of visitors."
    return _check(name, "warning", message, missing=missing)


CHECKS: tuple[Callable[[Subject], HealthCheck], ...] = (
    sample_ratio,
    unweighted_arms,
    several_variants,
    freshness,
    underpowered,
    whole_weeks,
)


def _check(check: str, status: CheckStatus, message: str, **details: object) -> HealthCheck:
    return HealthCheck(check=check, status=status, message=message, details=details)
