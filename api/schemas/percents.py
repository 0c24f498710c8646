"""Conversion of shares to rounded percents, on output only."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, overload

from engine.analysis.results.rounding import round_beside, round_percent

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
# Shares that are compared with the threshold, and what is compared with the whole of it.
_COMPARED: Final = ("confidence", "score_value", "chance_to_beat")
_PROGRESS: Final = "score_progress"


@overload
def percent(share: float) -> float: ...
@overload
def percent(share: None) -> None: ...
def percent(share: float | None) -> float | None:
    """Convert a share to a percent of two decimals: 118/1412 is 8.36. None stays None."""
    return None if share is None else round_percent(share)


def in_percents(result: "DataclassInstance", threshold: float | None = None) -> dict[str, Any]:
    """Return the fields of a result, its shares as percents.

    Scores stay on their side of the `threshold` (a share) when they are rounded.
    """
    fields = asdict(result)
    percents = {wire: percent(fields[name]) for name, wire in PERCENTS.items() if name in fields}
    if threshold is not None:
        limits = dict.fromkeys(_COMPARED, threshold) | {_PROGRESS: 1.0}
        percents |= {
            PERCENTS[name]: round_beside(fields[name], limit)
            for name, limit in limits.items()
            if fields.get(name) is not None
        }
    return {**fields, **percents}
