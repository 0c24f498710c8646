"""Conversion of shares to rounded percents, on output only."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, overload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Names of shares in the engine, and of percents in answers.
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
    """Convert a share to a percent of two decimals: 118/1412 is 8.36. None stays None."""
    # Adding zero makes a rounded -0.0 a plain 0.0.
    return None if share is None else round(100 * share, 2) + 0.0


def in_percents(result: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a result, its shares as percents."""
    fields = asdict(result)
    percents = {wire: percent(fields[name]) for name, wire in PERCENTS.items() if name in fields}
    return {**fields, **percents}
