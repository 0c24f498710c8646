"""Feed of recent changes: each as a sentence about an experiment, with its time of day."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from api.dashboard.listed_rows import Row
from engine.analysis.results.kept_verdict import ExperimentChange
from engine.analysis.results.verdict_words import CHECK_WORDS, VERDICT_WORDS, VERDICTS
from engine.design.lifecycle import UNSTARTED

_STEPS: Final[Mapping[str, str]] = {
    "draft": "was drafted",
    "scheduled": "was scheduled",
    "running": "started",
    "paused": "was paused",
    "completed": "ended",
    "archived": "was archived",
}


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A change of an experiment: what happened to it, and more about that."""

    at: datetime
    time: str
    row: Row
    happened: str
    more: str


def feed_of(
    rows: Iterable[Row],
    changes: Mapping[str, Iterable[ExperimentChange]],
    *,
    now: datetime,
    zone: tzinfo,
    most: int,
) -> list[FeedEntry]:
    """List the newest changes, with their times in a time zone."""
    found = [(one.at, row, one) for row in rows for one in changes.get(row.experiment.id, ())]
    newest = sorted(found, key=lambda each: each[0], reverse=True)[:most]
    return [FeedEntry(at, _time(at, now, zone), row, *_sentence(one)) for at, row, one in newest]


def _time(at: datetime, now: datetime, zone: tzinfo) -> str:
    local = at.astimezone(zone)
    return f"{local:%H:%M}" if local.date() == now.astimezone(zone).date() else f"{local:%a %H:%M}"


def _sentence(one: ExperimentChange) -> tuple[str, str]:
    """Say what happened, and more about it."""
    by, arrow = one.actor or "", " \N{RIGHTWARDS ARROW} "
    if one.kind == "verdict":
        return "has another verdict", arrow.join(_verdict(each) for each in (one.before, one.after))
    if one.kind == "plan":
        return "reached its plan", ""
    if one.kind == "health":
        began = one.after is not None
        return ("has an alarm" if began else "is sound again"), _check(one.after or one.before or "")
    if one.kind == "status":
        is_resumed = one.after == "running" and one.before not in {None, *UNSTARTED}
        return ("was resumed" if is_resumed else _STEPS.get(one.after or "", "changed")), by
    if one.kind == "weights":
        return "has other weights", f"{one.before}{arrow}{one.after}"
    return "was edited", (one.after or "").replace("_", " ")


def _verdict(code: str | None) -> str:
    verdict = next((one for one in VERDICTS if one == code), None)
    return (code or "") if verdict is None else VERDICT_WORDS[verdict].label


def _check(code: str) -> str:
    return CHECK_WORDS[code].label if code in CHECK_WORDS else code
