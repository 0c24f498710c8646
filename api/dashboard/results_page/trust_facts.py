"""Facts of the trust line: the split of the visitors beside its plan, and the time of the last visitor."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from engine.analysis.results.report import Report

# The parts of more variants are in the check.
_MOST_PARTS: Final = 4


def split_words(report: Report) -> str | None:
    """Say the split and its plan in percent: "50.1 : 49.9 of 50 : 50"; None where it is not tested."""
    found = _details(report, "sample_ratio")
    counts, shares = found.get(f"{report.plan.noun}s"), found.get("expected_shares")
    if not counts or not shares or len(counts) > _MOST_PARTS or not sum(counts.values()):
        return None
    whole = sum(counts.values())
    are = " : ".join(f"{100 * count / whole:.1f}" for count in counts.values())
    return f"{are} of {' : '.join(f'{100 * shares[name]:.3g}' for name in counts)}"


def last_visitor_at(report: Report) -> datetime | None:
    """Return the time of the last new visitor of a running experiment."""
    last = _details(report, "freshness").get("last_exposure_at")
    return None if last is None else datetime.fromisoformat(last)


def _details(report: Report, check: str) -> Mapping[str, Any]:
    return next((one.details for one in report.health if one.check == check), {})
