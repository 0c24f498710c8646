"""States that notification channels were told of: each change once, and a further one where it holds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

VERDICT: Final = "verdict"
PLAN: Final = "plan"
# What an experiment begins with, which is no news.
FIRST_VERDICT: Final = "insufficient_data"
# Told once in the life of an experiment.
_ONCE: Final = frozenset({PLAN})
# Of sums that are handed in, the next count may never come.
_HOLDS_AFTER: Final = timedelta(days=1)

# By the name of a state: the value that was `told`; the `next` one, with its count and the time it was seen.
States = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StateChange:
    """A change of a state that is to be told; None stands for no value."""

    name: str
    before: str | None
    after: str | None


def settle(
    states: States, seen: Mapping[str, str], *, counted_at: datetime, now: datetime
) -> tuple[dict[str, Any], list[StateChange]]:
    """Return the states after a look at results counted up to `counted_at`, and the changes to tell.

    The first change of a state is told at once; a further one once a later count finds it, too, or after a
    day, so that a value that flaps is not told each time.
    """
    settled, changes = {**states}, []
    for name in _names(states, seen):
        value, known = seen.get(name), states.get(name)
        told = known["told"] if known else _first(name)
        if value == told:
            if known:
                settled[name] = {"told": told}
        elif known is None or _holds(known, value, counted_at, now):
            settled[name] = {"told": value}
            changes.append(StateChange(name, told, value))
        elif "next" not in known or known["next"] != value:
            settled[name] = {
                "told": told,
                "next": value,
                "counted_at": counted_at.isoformat(),
                "seen_at": now.isoformat(),
            }
    return settled, changes


def _names(states: States, seen: Mapping[str, str]) -> Iterator[str]:
    yield from (name for name in sorted({*states, *seen}) if not (name in _ONCE and name in states))


def _first(name: str) -> str | None:
    return FIRST_VERDICT if name == VERDICT else None


def _holds(known: Mapping[str, Any], value: str | None, counted_at: datetime, now: datetime) -> bool:
    if "next" not in known or known["next"] != value:
        return False
    is_counted_again = datetime.fromisoformat(known["counted_at"]) < counted_at
    return is_counted_again or datetime.fromisoformat(known["seen_at"]) + _HOLDS_AFTER <= now
