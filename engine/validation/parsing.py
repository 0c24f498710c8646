"""Parsing of JSON-like input into records: times, ids, merges and default marks.

Parsing reports no problems: a value that cannot be parsed stays as it is, for the checks to report.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from engine.errors import InvalidDesignError, Problem
from engine.validation.records import Record, unknown_keys
from engine.validation.values import shown

NewId = Callable[[str], str]


def fields_of(fields: object, what: str) -> dict[str, Any]:
    """Return the input as a dict; raises InvalidDesignError if it is no object."""
    if not isinstance(fields, Mapping):
        raise InvalidDesignError([Problem("body", f"{what} must be an object, not {shown(fields)}")])
    return dict(fields)


def unknown_fields(
    fields: Record, writable: Iterable[str], assigned: Iterable[str], what: str
) -> list[Problem]:
    """List the unknown fields; callers may send back those that the service assigns."""
    ignored = frozenset(assigned)
    sent = {name: value for name, value in fields.items() if name not in ignored}
    return list(unknown_keys(sent, writable, what))


def read_moment(value: object) -> object:
    """Parse ISO 8601 text, into UTC if it has an offset; other values stay as they are."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return value


def merged(current: Record, change: object) -> object:
    """Merge `change` into the current record key by key; null removes a key."""
    if not isinstance(change, Mapping):
        return change
    return {key: value for key, value in {**current, **change}.items() if value is not None}


def identified(items: object, existing: Sequence[Record], new_id: NewId, prefix: str) -> object:
    """Merge items into the existing ones of the same id; items without an id get a new one.

    An id that does not exist stays, for `unknown_ids` to report.
    """
    if not isinstance(items, list | tuple):
        return items
    return [_identified(item, existing, new_id, prefix) for item in items]


def _identified(item: object, existing: Sequence[Record], new_id: NewId, prefix: str) -> object:
    if not isinstance(item, Mapping):
        return item
    if item.get("id") is None:
        return {**item, "id": new_id(prefix)}
    return {**by_id(existing, item["id"]), **item}


def by_id(records: Sequence[Record], identifier: object) -> Record:
    """Return the record with an id; empty if there is none."""
    return next((record for record in records if record["id"] == identifier), {})


def without_ids(items: object) -> object:
    """Remove the ids of items: a copied experiment carries those of the original."""
    if not isinstance(items, list | tuple):
        return items
    return [
        {key: value for key, value in item.items() if key != "id"} if isinstance(item, Mapping) else item
        for item in items
    ]


def unknown_ids(items: object, existing: Sequence[Record], what: str) -> Iterator[Problem]:
    """Yield a problem for each item with an unknown id."""
    for index, item in enumerate(items if isinstance(items, list | tuple) else ()):
        given = item.get("id") if isinstance(item, Mapping) else None
        if given is not None and not by_id(existing, given):
            yield Problem(
                f"[{index}].id", f"no {what} has the id {shown(given)}; leave the id out to add one"
            )


def first_marked(items: object, flag: str) -> object:
    """Set `flag` on the first item if no item has it."""
    if not isinstance(items, list) or not items or not isinstance(items[0], Mapping):
        return items
    if any(not isinstance(item, Mapping) or item.get(flag, False) is not False for item in items):
        return items
    return [{**items[0], flag: True}, *items[1:]]
