"""Problems of an API answer, each beside the field of a form that it is about."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

ABOVE: Final = ""
"""Where the problems stand that are about no field of the form."""


def problems_by_field(details: Iterable[Mapping[str, Any]], fields: Iterable[str]) -> dict[str, list[str]]:
    """Group messages by the nearest field or row; what has neither stands above the form, with its path."""
    known = {part for field in fields for part in _with_ancestors(field)}
    grouped: dict[str, list[str]] = {}
    for detail in details:
        path, message = str(detail.get("field", "")), str(detail.get("message", ""))
        place = next((one for one in _with_ancestors(path) if one in known), ABOVE)
        named = message if place == path else f"{path[len(place) :].lstrip('.')}: {message}"
        grouped.setdefault(place, []).append(named)
    return grouped


def _with_ancestors(path: str) -> list[str]:
    """List a path and those around it, the nearest first: `goals[0].name`, `goals[0]`, `goals`."""
    found = []
    while path:
        found.append(path)
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return found
