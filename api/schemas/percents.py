"""How shares become the percents of the wire: on the way out, after every judgement."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, overload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# The engine's shares, and the percents of the wire that they become.
PERCENTS: Final = {
    "conversion_rate": "conversion_rate",
    "improvement": "improvement",
    "rest_improvement": "rest_improvement",
    "shrunk_improvement": "shrunk_improvement",
    "confidence": "confidence",
    "score_value": "score_value",
    "score_progress": "score_progress_percentage",
    "chance_to_beat": "chance_to_beat",
    "rpv_lift": "rpv_lift",
    "estimated_uplift": "estimated_uplift",
    "effective_confidence_threshold": "effective_confidence_threshold",
}


@overload
def percent(share: float) -> float: ...
@overload
def percent(share: None) -> None: ...
def percent(share: float | None) -> float | None:
    """A share as a percent of two decimals: 118 of 1412 is 8.36. None stays None."""
    # Adding zero makes a rounded -0.0 a plain 0.0.
    return None if share is None else round(100 * share, 2) + 0.0


def in_percents(result: "DataclassInstance") -> dict[str, Any]:
    """The fields of a result, its shares as percents."""
    fields = asdict(result)
    percents = {wire: percent(fields[name]) for name, wire in PERCENTS.items() if name in fields}
    return {**fields, **percents}
