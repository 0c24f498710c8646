"""What a client may tell its user before a tool runs: whether it only reads, adds, or takes away."""

from collections.abc import Mapping
from typing import Final

from mcp_types import ToolAnnotations


def _hints(*, reads: bool = False, takes_away: bool = False, repeats: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=reads, destructive_hint=takes_away, idempotent_hint=repeats, open_world_hint=False
    )


READS: Final = _hints(reads=True, repeats=True)
ADDS: Final = _hints()
ADDS_ONCE: Final = _hints(repeats=True)
TAKES_AWAY: Final = _hints(takes_away=True, repeats=True)
OF_METHOD: Final[Mapping[str, ToolAnnotations]] = {
    "GET": READS,
    "POST": ADDS,
    # What a field held before is gone.
    "PATCH": TAKES_AWAY,
    "DELETE": TAKES_AWAY,
}
# Where the method does not tell.
OF_OPERATION: Final[Mapping[str, ToolAnnotations]] = {
    # Only computes.
    "compute_sample_size": READS,
    # Nobody can take these back.
    "complete_experiment": TAKES_AWAY,
    "archive_experiment": TAKES_AWAY,
    "revoke_api_key": TAKES_AWAY,
    # An event counts once, however often it is sent, and a visitor keeps the first assignment.
    "track_events": ADDS_ONCE,
    "track_conversions": ADDS_ONCE,
    "assign_visitor": ADDS_ONCE,
}


def hints_of(name: str, method: str) -> ToolAnnotations:
    """The hints of an operation."""
    return OF_OPERATION.get(name, OF_METHOD[method])
