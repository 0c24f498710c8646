"""Rows that need attention today: why, of which goal, for whom, since when, and the next step."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.dashboard.listed_rows import Row
from api.dashboard.next_steps import next_step
from engine.analysis.results.formatting import exact_money
from engine.analysis.results.kept_verdict import KeptVerdict
from engine.analysis.results.verdict_words import CHECK_WORDS
from engine.currencies import minor_units

_DAYS_A_YEAR: Final = 365


@dataclass(frozen=True, slots=True)
class Waiting:
    """An experiment that needs attention: its sentence, its facts by label, and the step that fits."""

    row: Row
    sentence: str
    facts: Mapping[str, str]
    step: str


def ready_row(row: Row, kept: KeptVerdict, now: datetime, project: str | None) -> Waiting:
    """Describe an experiment that waits for a decision; `now` is a local time."""
    facts = {**_whom(row, project), "Ready since": since_words(kept.since, now)}
    daily = abs(kept.projected_annual_revenue_impact_cents or 0) / _DAYS_A_YEAR * _still_without(row, kept)
    # Of the others it is not shown that anything is lost.
    if kept.verdict in {"ship", "rollback"} and daily >= minor_units(kept.revenue_currency):
        facts["Waiting costs"] = f"about {_two_digits(daily, kept.revenue_currency)} a day"
    names = [one.name for one in row.experiment.variants if one.is_control]
    variant = kept.lift.variant_name if kept.lift else None
    return Waiting(row, _why(kept, now), facts, next_step(kept.verdict, variant, next(iter(names), None)))


def _still_without(row: Row, kept: KeptVerdict) -> float:
    """Return the share of visitors for whom the decision changes something: a winner's, those without it."""
    experiment = row.experiment
    total = sum(one.weight for one in experiment.variants)
    name = kept.lift.variant_name if kept.lift else None
    # What has ended is shown to nobody.
    weight = (
        0.0
        if experiment.status == "completed"
        else sum(one.weight for one in experiment.variants if one.name == name)
    )
    shown = weight / total * experiment.traffic_allocation / 100 if total else 0.0
    return 1 - shown if kept.verdict == "ship" else shown


def broken_row(row: Row, kept: KeptVerdict, now: datetime, project: str | None) -> Waiting:
    """Describe an experiment whose data are to be fixed; `now` is a local time."""
    alarm = next((one for one in kept.open_checks if one.status == "alarm"), None)
    words = CHECK_WORDS.get(alarm.check) if alarm else None
    check = {} if alarm is None else {"Failed check": words.label if words else alarm.check}
    facts = {**check, **_whom(row, project), "Broken since": since_words(kept.since, now)}
    fix = words.fix if words and words.fix else kept.next_step
    return Waiting(row, alarm.message if alarm else f"{kept.headline}.", facts, fix)


def since_words(since: datetime, now: datetime) -> str:
    """Say a time and its age in days of `now`, a local time: "02:00 today", "6 Nov, 18 days"."""
    local = since.astimezone(now.tzinfo)
    days = (now.date() - local.date()).days
    if days <= 0:
        return f"{local:%H:%M} today"
    if days == 1:
        return f"{local:%H:%M} yesterday"
    year = "" if local.year == now.year else f" {local.year}"
    return f"{local:%-d %b}{year}, {days} days"


def _whom(row: Row, project: str | None) -> dict[str, str]:
    """Name the project of several, the goal, the audience and the owner."""
    return {
        **({"Project": project} if project else {}),
        "Goal": row.goal or "",
        "For": row.audience,
        "Owner": row.owner or "not assigned",
    }


def _why(kept: KeptVerdict, now: datetime) -> str:
    """Say what was found, and on what it rests."""
    said = [f"{kept.headline}."]
    if kept.verdict == "ship":
        said.append("No other goal is shown to be harmed.")
    if kept.plan.reached_at is not None:
        said.append(f"Plan reached {kept.plan.reached_at.astimezone(now.tzinfo):%-d %b}.")
    elif kept.verdict in {"ship", "rollback"} and not kept.plan.is_reached:
        said.append("It holds at every look, before the plan.")
    return " ".join(said)


def _two_digits(cents: float, currency: str) -> str:
    return exact_money(float(f"{cents:.2g}"), currency, digits=0)
