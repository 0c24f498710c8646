"""Filters of results by segment, as the fields of a form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request

# Available values of the results, by the query parameter that selects one.
PARAMETERS: Final = {
    "traffic_source": "traffic_sources",
    "device_type": "device_types",
    "visitor_type": "visitor_types",
    "day_of_week": "day_of_weeks",
    "country": "countries",
    "region": "regions",
    "os": "operating_systems",
    "browser": "browsers",
    "utm_source": "utm_sources",
    "utm_medium": "utm_mediums",
    "utm_campaign": "utm_campaigns",
    "visitor_identity": "visitor_identities",
}


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
    for parameter, name in PARAMETERS.items():
        chosen = asked.get(parameter) or None
        values = tuple(dict.fromkeys([*available.get(name, ()), *([chosen] if chosen else [])]))
        if values:
            found.append(Filter(parameter, values, chosen))
    return found
