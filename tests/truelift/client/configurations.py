"""Configurations as the service answers them to a server."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.design.experiment import Experiment
from pipeline.store.documents import document_of
from truelift.client.exchanges import Answer


def a_configuration(
    *experiments: Experiment,
    settings: Mapping[str, Any] | None = None,
    holdout: Experiment | None = None,
    group_holdouts: Sequence[Experiment] = (),
) -> bytes:
    """Encode a configuration with the definitions of some experiments."""
    return msgspec.json.encode(
        {
            "schema": 1,
            "project_id": "prj_1",
            "time_zone": "UTC",
            "settings": settings or {"require_consent": False},
            "experiments": [{"id": one.id, "definition": document_of(one)} for one in experiments],
            "group_holdouts": [{"definition": document_of(one)} for one in group_holdouts],
            "holdout": None if holdout is None else {"definition": document_of(holdout)},
        }
    )


def an_answer(content: bytes, status: int = 200, **headers: str) -> Answer:
    """Build an answer of the service."""
    return Answer(status, headers, content)
