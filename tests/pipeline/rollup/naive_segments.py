"""The segments at first exposure once more, event by event in plain Python."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.store.event_columns import HEADER_BITS, EventRow

HALF_AN_HOUR_US = 30 * 60 * 1_000_000
PLAIN = ("traffic_source", "visitor_type", "utm_source", "utm_medium", "utm_campaign")


def complete_first(first: EventRow, theirs: Iterable[EventRow], rows: Sequence[EventRow]) -> EventRow:
    """Complete the first exposure by all rows of the same person; `rows` are in order of arrival."""
    arrived = next(place for place, row in enumerate(rows) if row is first)
    earlier = {id(row) for row in rows[:arrived]}
    visits = [row for row in theirs if row.type in {"assignment", "init"} and id(row) in earlier]
    seen: dict[str, Any] = {name: _last([getattr(row, name) for row in [*visits, first]]) for name in PLAIN}
    for name in HEADER_BITS:
        in_order = [
            _last([getattr(row, name) for row in visits if not _is_stated(row, name)]),
            getattr(first, name),
            _last([getattr(row, name) for row in visits if _is_stated(row, name)]),
            getattr(first, name) if _is_stated(first, name) else None,
        ]
        seen[name] = _last(in_order)
    seen["country"] = seen["country"] and seen["country"].upper()
    customs = [json.loads(row.custom) for row in [*visits, first] if row.custom]
    merged = {key: value for custom in customs for key, value in custom.items()}
    if seen["visitor_type"] is None and first.sender in {"browser", "server"}:
        is_old = any(row.occurred_at < first.occurred_at - HALF_AN_HOUR_US for row in theirs)
        seen["visitor_type"] = "returning" if is_old else "new"
    if any(_identifies(row, first) for row in theirs if row.type not in {"assignment", "init"}) or any(
        row.visitor_identity == "identified" for row in visits
    ):
        seen["visitor_identity"] = "identified"
    seen["user_id"] = _last([row.user_id for row in [*visits, first]])
    text = json.dumps(merged, sort_keys=True, separators=(",", ":")) if merged else None
    return first._replace(custom=text, **seen)


def _identifies(row: EventRow, first: EventRow) -> bool:
    is_known = row.user_id is not None and row.visitor_id is not None
    return is_known and row.occurred_at <= first.occurred_at


def _is_stated(row: EventRow, name: str) -> bool:
    return not (row.header_fields or 0) & HEADER_BITS[name]


def _last(values: list[Any]) -> Any:
    return next((value for value in reversed(values) if value is not None), None)
