"""Filters of results by segment, and the values to choose from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request

from pipeline.store.event_columns import DIMENSIONS

# What most ask for; the other filters are in one menu.
_USUAL: Final = frozenset({"device_type", "country", "visitor_type", "traffic_source"})


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: a query parameter, its values, and the one that is chosen."""

    parameter: str
    values: tuple[str, ...]
    chosen: str | None

    @property
    def is_open(self) -> bool:
        """Whether it stands beside the others, and not in their menu."""
        return self.chosen is not None or self.parameter in _USUAL


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
