"""Reasons why a night counts everything from the first event on, instead of checking what is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ASKED, FIRST, VERSION, WEEK, CHANGES = "asked", "first", "version", "week", "changes"
RULES, EXCHANGE_RATES, TIME_ZONE = "rules", "exchange_rates", "time_zone"
EVENTS, SUMS, VISITORS = "events", "sums", "visitors"
WHY: Final[Mapping[str, str]] = {
    ASKED: "it was asked for",
    FIRST: "this store has no record of an earlier full count",
    VERSION: "this version counts or digests events otherwise than the last one",
    TIME_ZONE: "the reporting time zone has changed since the last full count",
    EXCHANGE_RATES: "the exchange rates have changed since the last full count",
    RULES: "the counting rules have changed since the last full count",
    WEEK: "the last full count was a week ago",
    CHANGES: "so many visitors have changed that to count all is quicker",
    EVENTS: "the stored events are not those that were counted: received on",
    SUMS: "rows of visitors do not add up to the published sums, of",
    VISITORS: "visitors counted anew from their events differ from their stored rows, of",
}
# Nothing but a defect, of Truelift or of the disk, or a hand in the store makes these.
FAULTS: Final = frozenset({EVENTS, SUMS, VISITORS})
# Days and experiments that are named.
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class WholeCount:
    """A count of everything: the reason, one of WHY, and the days or experiments where something differs."""

    reason: str
    where: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say why, in a sentence."""
        more = len(self.where) - _MOST_NAMED
        named = ", ".join(self.where[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{WHY[self.reason]} {named}".strip()
