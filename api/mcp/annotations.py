"""Tool annotations: read-only, destructive and idempotent hints."""

from collections.abc import Mapping
from typing import Final

from mcp_types import ToolAnnotations


def _annotations(
    *, read_only: bool | None = None, destructive: bool | None = False, idempotent: bool | None = None
) -> ToolAnnotations:
    """State the hints that differ from the protocol's defaults: writes, destructive, not idempotent."""
    return ToolAnnotations(
        read_only_hint=read_only,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=False,
    )


# The other hints are of tools that change something.
READ_ONLY: Final = _annotations(read_only=True, destructive=None)
ADDITIVE: Final = _annotations()
IDEMPOTENT: Final = _annotations(idempotent=True)
DESTRUCTIVE: Final = _annotations(destructive=True, idempotent=True)
BY_METHOD: Final[Mapping[str, ToolAnnotations]] = {
    "GET": READ_ONLY,
    "POST": ADDITIVE,
    # The former values of the fields are lost.
    "PATCH": DESTRUCTIVE,
    "DELETE": DESTRUCTIVE,
}
# Operations whose method would give other annotations.
BY_OPERATION: Final[Mapping[str, ToolAnnotations]] = {
    # Only computes.
    "compute_sample_size": READ_ONLY,
    # These cannot be undone.
    "complete_experiment": DESTRUCTIVE,
    "archive_experiment": DESTRUCTIVE,
    "revoke_api_key": DESTRUCTIVE,
    # An event counts once, however often it is sent, and a visitor keeps the first assignment.
    "track_events": IDEMPOTENT,
    "track_conversions": IDEMPOTENT,
    "assign_visitor": IDEMPOTENT,
}


def annotations_of(name: str, method: str) -> ToolAnnotations:
    """Return the annotations of an operation, by its id or else by its method."""
    return BY_OPERATION.get(name, BY_METHOD[method])
