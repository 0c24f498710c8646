"""Changes of a project's experiments since a version, for caches.

Every write of an experiment gives it, and its project, the project's next version; a deletion, the project
alone. A cache of any process reads what has a later version than its own.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection, Text, cast, func, not_, select

from engine.design.goals import tracking_of
from engine.vocabulary import GoalType, Status
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.schema import experiments, projects

# The version before any that a project has.
UNREAD: Final = -1


class VariantOutline(msgspec.Struct):
    """The id of a variant."""

    id: str


class GoalOutline(msgspec.Struct, dict=True):
    """What events tell of a goal: its id, and what it counts."""

    id: str
    goal_type: GoalType
    config: Mapping[str, Any] = {}

    @cached_property
    def tracking(self) -> Mapping[str, Any]:
        """The config with its defaults."""
        return tracking_of(self.goal_type, self.config)

    def currency(self, usual: str) -> str:
        """Return the currency of the goal's money: its own, or the `usual` one of its project."""
        return str(self.tracking.get("currency", usual))


class RolloutOutline(msgspec.Struct):
    """Whether a rollout lasts."""

    ended_at: datetime | None = None


class ExperimentOutline(msgspec.Struct):
    """What requests need of an experiment that is not served, decoded without validating all of it."""

    id: str
    test_key: str
    status: Status
    created_at: datetime
    variants: tuple[VariantOutline, ...] = ()
    goals: tuple[GoalOutline, ...] = ()
    completed_at: datetime | None = None
    is_holdout: bool = False
    rollout: RolloutOutline | None = None

    @property
    def is_rolled_out(self) -> bool:
        """Whether a shipped variant is shown to everybody."""
        return self.rollout is not None and self.rollout.ended_at is None


_decode_outline: Final = msgspec.json.Decoder(ExperimentOutline).decode


@dataclass(frozen=True, slots=True)
class StoredExperiment:
    """An experiment as it is stored: its outline, and the JSON of its document."""

    outline: ExperimentOutline
    document: str


@dataclass(frozen=True, slots=True)
class ExperimentChanges:
    """Experiments written since a version, in no order, the ids of deleted ones, and the version now."""

    version: int
    written: Sequence[StoredExperiment] = ()
    deleted: AbstractSet[str] = frozenset()


def read_changes(
    connection: Connection, project_id: str, since: int, known: AbstractSet[str]
) -> ExperimentChanges:
    """Read what changed since a version, at which a project had the experiments `known`; NotFoundError."""
    is_this = experiments.c.project_id == project_id
    version = connection.scalar(select(projects.c.experiments_version).where(projects.c.id == project_id))
    if version is None:
        raise NotFoundError("project", project_id)
    if version == since:
        return ExperimentChanges(version)
    later = select(cast(experiments.c.document, Text)).where(is_this, experiments.c.version > since)
    written = [StoredExperiment(_decode_outline(text), text) for text in connection.scalars(later)]
    expected = known | {one.outline.id for one in written}
    # All that exist are expected, so that an equal number means that none is missing.
    number = connection.scalar(select(func.count()).select_from(experiments).where(is_this))
    if number == len(expected):
        return ExperimentChanges(version, written)
    present = frozenset(connection.scalars(select(experiments.c.id).where(is_this)))
    return ExperimentChanges(version, written, expected - present)


class ExperimentNumbers(NamedTuple):
    """How many experiments a project has, and how many of them run, at a version."""

    version: int
    total: int
    running: int


def read_numbers(connection: Connection, project_id: str) -> ExperimentNumbers:
    """Count the experiments of a project; none of an unknown one."""
    version = connection.scalar(select(projects.c.experiments_version).where(projects.c.id == project_id))
    counts = (
        select(experiments.c.status, func.count())
        .where(experiments.c.project_id == project_id, not_(experiments.c.is_holdout))
        .group_by(experiments.c.status)
    )
    by_status = {row[0]: row[1] for row in connection.execute(counts)}
    return ExperimentNumbers(version or 0, sum(by_status.values()), by_status.get("running", 0))


def next_version(connection: Connection, project_id: str) -> int:
    """Give a project the next version of its experiments, in the transaction that writes one; return it."""
    following = projects.c.experiments_version + 1
    give = projects.update().where(projects.c.id == project_id).values(experiments_version=following)
    return int(connection.execute(give.returning(projects.c.experiments_version)).scalar_one())
