"""Problems of an API answer, each beside the field of a form that it is about."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from api.dashboard.page_errors import NotSignedInError
from api.in_process import OperationAnswer

Problems = dict[str, list[str]]
ABOVE: Final = ""
"""Where the problems stand that are about no field of the form."""


def problems_of(answer: OperationAnswer, fields: Iterable[str]) -> Problems:
    """Return what an answer refuses by field of a form, nothing of a success; NotSignedInError."""
    if answer.status == 401:
        raise NotSignedInError
    if answer.status < 400:
        return {}
    error = (answer.content or {}).get("error", {})
    problems = problems_by_field(error.get("details", ()), fields)
    return problems or {ABOVE: [str(error.get("message", "The request failed."))]}


def problems_by_field(details: Iterable[Mapping[str, Any]], fields: Iterable[str]) -> Problems:
    """Group messages by the nearest field or row; what has neither stands above the form, with its path."""
    known = {part for field in fields for part in _with_ancestors(field)}
    grouped: Problems = {}
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
