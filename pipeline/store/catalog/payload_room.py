"""Room for payloads: the bytes that those of a project's experiments may have together."""

from sqlalchemy import Connection, func, select

from engine.design.experiment import Experiment
from engine.design.lifecycle import OPEN, UNSTARTED
from engine.design.payloads import MAX_PROJECT_BYTES, size_of
from engine.errors import InvalidDesignError, Problem
from pipeline.store.catalog.schema import experiments


def payload_bytes(experiment: Experiment) -> int:
    """Add up the bytes of an experiment's payloads."""
    return sum(size_of(variant.payload) for variant in experiment.variants)


def require_room(connection: Connection, experiment: Experiment) -> None:
    """Require that the payloads fit beside those of the locked project that are, or may be, in scripts.

    Experiments that have ended do not count. InvalidDesignError.
    """
    others = select(func.sum(experiments.c.payload_bytes)).where(
        experiments.c.project_id == experiment.project_id,
        experiments.c.status.in_((*UNSTARTED, *OPEN)),
        experiments.c.id != experiment.id,
    )
    own = payload_bytes(experiment)
    if own and own + (connection.scalar(others) or 0) > MAX_PROJECT_BYTES:
        message = (
            f"payloads of the project's experiments that have not ended may have {MAX_PROJECT_BYTES:,} bytes "
            "together; shorten them, or complete experiments"
        )
        raise InvalidDesignError([Problem("variants", message)])
