"""Filters of results by segment, as the fields of a form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from pipeline.store.event_columns import DIMENSIONS


@dataclass(frozen=True, slots=True)
class Filter:
    """A field of the form: a query parameter, its values, and the one that is chosen."""

    parameter: str
    values: tuple[str, ...]
    chosen: str | None


def asked_filters(request: Request) -> dict[str, str]:
    """Return what the address asks for; a form sends its empty fields, too."""
    return {name: value for name, value in request.query_params.items() if value}


def filters_of(available: Mapping[str, Any], asked: Mapping[str, str]) -> list[Filter]:
    """List the filters that have values; a chosen value stays even where no visitor has it."""
    found = []
    for parameter, dimension in DIMENSIONS.items():
        chosen = asked.get(parameter) or None
        values = tuple(dict.fromkeys([*available.get(dimension.plural, ()), *([chosen] if chosen else [])]))
        if values:
            found.append(Filter(parameter, values, chosen))
    return found
