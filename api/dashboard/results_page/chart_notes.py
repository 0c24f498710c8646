"""Annotations of charts over time: what was changed, and when, from the audit trail."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from engine.analysis.results.formatting import listed
from engine.design.experiment import Experiment
from engine.local_days import local_day
from pipeline.store.catalog.audit import AuditEntry

# Earlier ones are left out, or numbers would run into each other.
MOST: Final = 12
# Fields by which an edit is told; steps of the life and times are told otherwise, or not at all.
_EDITS: Final = {
    "name": "name",
    "hypothesis": "hypothesis",
    "goals": "goals",
    "targeting_rules": "targeting",
    "url_rules": "pages",
    "url": "pages",
    "custom_css": "CSS",
    "custom_js": "JavaScript",
    "statistics": "statistics",
    "stop_conditions": "end",
    "scheduled_end_at": "end",
}
_STEPS: Final = {"completed": "ended", "archived": "archived"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What happened on a day, or from it to another one."""

    day: date
    text: str
    until: date | None = None


def annotations(
    experiment: Experiment, trail: Iterable[AuditEntry], *, reached_at: datetime | None, timezone: str
) -> tuple[Note, ...]:
    """List what happened since the start, in order: edits, pauses, weights, traffic and the planned look."""
    if experiment.started_at is None:
        return ()
    notes = [Note(day=local_day(experiment.started_at, timezone), text="started")]
    for pause in experiment.pauses:
        until = None if pause.ended_at is None else local_day(pause.ended_at, timezone)
        day = local_day(pause.started_at, timezone)
        notes.append(Note(day=day, text="paused", until=None if until == day else until))
    if reached_at is not None:
        notes.append(Note(day=local_day(reached_at, timezone), text="plan reached: the one planned look"))
    for entry in trail:
        if entry.happened_at > experiment.started_at and _pair(entry.changes, "id") == (None, None):
            day = local_day(entry.happened_at, timezone)
            notes.extend(Note(day=day, text=text) for text in _texts(entry.changes, experiment))
    by_day: dict[tuple[date, date | None], dict[str, None]] = {}
    for note in sorted(notes, key=lambda one: (one.day, one.text != "started")):
        by_day.setdefault((note.day, note.until), {})[note.text] = None
    joined = [Note(day=day, until=until, text=", ".join(texts)) for (day, until), texts in by_day.items()]
    return tuple(joined[-MOST:])


def _texts(changes: Mapping[str, Any], experiment: Experiment) -> Iterator[str]:
    """Say what an entry of the audit trail changed of a running experiment; a bandit's weights move often."""
    if (step := _STEPS.get(_pair(changes, "status")[1])) is not None:
        yield step
    before, after = _pair(changes, "traffic_allocation")
    if after is not None:
        yield f"traffic {before}% → {after}%"
    before, after = _weights(changes, 0), _weights(changes, 1)
    if before != after and after:
        if experiment.traffic_strategy == "fixed":
            yield f"weights {' : '.join(after)}"
    elif "variants" in changes:
        yield "variants edited"
    edited = list(dict.fromkeys(word for name, word in _EDITS.items() if name in changes))
    if edited:
        yield f"{listed(edited)} edited"


def _pair(changes: Mapping[str, Any], name: str) -> tuple[Any, Any]:
    found = changes.get(name)
    return (found[0], found[1]) if isinstance(found, list) and len(found) == 2 else (None, None)


def _weights(changes: Mapping[str, Any], place: int) -> list[str]:
    variants = _pair(changes, "variants")[place]
    return [f"{one.get('weight', 0):g}" for one in variants or () if isinstance(one, Mapping)]
