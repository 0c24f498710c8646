"""Experiments, and holdouts beside them: documents, each changed by a pure function in one transaction."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, Insert, Text, Update, cast, func, not_, select

from engine.design.experiment import Experiment
from engine.design.lifecycle import STARTED
from engine.design.metrics.metric import Metric
from engine.design.review import ReviewFacts
from engine.design.rollout_conflicts import TESTS, Beside
from engine.errors import InvalidDesignError, Problem
from engine.vocabulary import Status
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.exclusion.group_uses import given_slots
from pipeline.store.catalog.experiment_changes import (
    ExperimentChanges,
    ExperimentNumbers,
    next_version,
    read_changes,
    read_numbers,
)
from pipeline.store.catalog.experiment_listings import write_listing
from pipeline.store.catalog.metrics.project_metrics import metrics_of
from pipeline.store.catalog.payload_room import payload_bytes, require_room
from pipeline.store.catalog.project_lock import lock_project
from pipeline.store.catalog.review_facts import review_facts
from pipeline.store.catalog.schema import experiments, projects
from pipeline.store.catalog.webhooks.change_messages import announce_change
from pipeline.store.documents import document_of, value_from

Decide = Callable[[Experiment], Experiment]
DecideBeside = Callable[[Experiment, Beside], Experiment]
DecideByMetrics = Callable[[Experiment, Mapping[str, Metric]], Experiment]


@dataclass(frozen=True, slots=True)
class ProjectContent:
    """What a new experiment depends on: the test keys that are taken, and the metrics by id."""

    test_keys: Collection[str]
    metrics: Mapping[str, Metric]


class Experiments:
    """Repository of experiments."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self, project_id: str, build: Callable[[ProjectContent], Experiment], *, actor: str
    ) -> Experiment:
        """Save the experiment that `build` returns, given the content of the project.

        NotFoundError for an unknown project; where `build` raises, nothing is saved.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            content = ProjectContent(_test_keys(connection, project_id), metrics_of(connection, project_id))
            experiment = build(content)
            require_room(connection, experiment)
            save_new(connection, account_id, actor, experiment)
        return experiment

    def get(self, project_id: str, experiment_id: str) -> Experiment:
        """Return an experiment of a project; NotFoundError."""
        with self._database.read() as connection:
            return _experiment_from(_locate(connection, project_id, experiment_id))

    def of_project(
        self, project_id: str, statuses: Iterable[Status] | None = None, *, with_holdouts: bool = False
    ) -> list[Experiment]:
        """List the experiments of a project in those statuses (all if None), oldest first."""
        with self._database.read() as connection:
            return experiments_in(connection, project_id, statuses, with_holdouts=with_holdouts)

    def with_ids(
        self, project_id: str, experiment_ids: Collection[str], *, with_holdouts: bool = False
    ) -> list[Experiment]:
        """List those of a project's experiments that have one of the ids, oldest first."""
        query = _DOCUMENT.where(*_are_of(project_id, None, with_holdouts=with_holdouts))
        ids = list(experiment_ids)
        parts = [ids[first : first + _IDS_AT_ONCE] for first in range(0, len(ids), _IDS_AT_ONCE)]
        with self._database.read() as connection:
            queries = (query.where(experiments.c.id.in_(part)) for part in parts)
            found = [_experiment_from(text) for one in queries for text in connection.scalars(one)]
        return sorted(found, key=lambda one: (one.created_at, one.id))

    def started_ids(self, project_id: str) -> list[str]:
        """List the ids of a project's experiments that have started, holdouts among them."""
        query = select(experiments.c.id).where(*_are_of(project_id, STARTED, with_holdouts=True))
        with self._database.read() as connection:
            return list(connection.scalars(query))

    def changes(self, project_id: str, since: int, known: AbstractSet[str]) -> ExperimentChanges:
        """Read what changed of a project's experiments since a version, as `read_changes` does."""
        with self._database.read() as connection:
            return read_changes(connection, project_id, since, known)

    def numbers(self, project_id: str) -> ExperimentNumbers:
        """Count the experiments of a project, as `read_numbers` does."""
        with self._database.read() as connection:
            return read_numbers(connection, project_id)

    def in_statuses(self, statuses: Iterable[Status]) -> list[Experiment]:
        """List the experiments of every project in those statuses, holdouts among them, oldest first."""
        query = _DOCUMENT.where(experiments.c.status.in_(tuple(statuses))).order_by(
            experiments.c.created_at, experiments.c.id
        )
        with self._database.read() as connection:
            return [_experiment_from(text) for text in connection.scalars(query)]

    def ids(self) -> set[str]:
        """Return the ids of all experiments and holdouts."""
        with self._database.read() as connection:
            return set(connection.scalars(select(experiments.c.id)))

    def running_counts(self, project_ids: Collection[str]) -> dict[str, int]:
        """Count the running experiments of each of those projects."""
        query = (
            select(experiments.c.project_id, func.count())
            .where(
                experiments.c.project_id.in_(project_ids),
                experiments.c.status == "running",
                not_(experiments.c.is_holdout),
            )
            .group_by(experiments.c.project_id)
        )
        with self._database.read() as connection:
            counts = {row[0]: row[1] for row in connection.execute(query)}
        return {project_id: counts.get(project_id, 0) for project_id in project_ids}

    def change(self, project_id: str, experiment_id: str, decide: Decide, *, actor: str) -> Experiment:
        """Load an experiment, change it by `decide`, save and audit it, in one transaction.

        The experiment is locked while `decide` runs; where it raises, nothing changes. Of two callers that
        start a draft at once, the second gets a running experiment.
        """
        return self.change_in_steps(project_id, experiment_id, [(actor, decide)])

    def change_in_steps(
        self,
        project_id: str,
        experiment_id: str,
        steps: Sequence[tuple[str, Decide]],
        *,
        with_holdouts: bool = False,
    ) -> Experiment:
        """Change an experiment by several functions in one transaction; each is audited with its actor.

        Otherwise as `change`: others see the experiment before the first step, or after the last.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            text = _locate(connection, project_id, experiment_id, lock=True, with_holdouts=with_holdouts)
            experiment = _experiment_from(text)
            return _save_steps(connection, account_id, experiment, steps)

    def revise(
        self, project_id: str, experiment_id: str, decide: DecideByMetrics, *, actor: str
    ) -> Experiment:
        """Change an experiment by a function of it and of the project's metrics; otherwise as `change`."""
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            experiment = _experiment_from(_locate(connection, project_id, experiment_id, lock=True))
            metrics = metrics_of(connection, project_id)
            return _save_steps(connection, account_id, experiment, [(actor, lambda it: decide(it, metrics))])

    def change_beside(
        self, project_id: str, experiment_id: str, decide: DecideBeside, *, actor: str
    ) -> Experiment:
        """Change an experiment by a function of it, and of what is beside it; otherwise as `change`."""
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            experiment = _experiment_from(_locate(connection, project_id, experiment_id, lock=True))
            address = projects.c.document["url"].as_string()
            site = connection.execute(select(address).where(projects.c.id == project_id)).scalar_one()
            others = [one for one in _tests_and_rollouts(connection, project_id) if one.id != experiment_id]
            facts = review_facts(connection, account_id, project_id, experiment_id)
            beside = Beside(others, site, facts)
            return _save_steps(connection, account_id, experiment, [(actor, lambda it: decide(it, beside))])

    def review_facts(self, experiment: Experiment) -> ReviewFacts:
        """Read what reviews of an experiment depend on; NotFoundError for an unknown project."""
        with self._database.read() as connection:
            account = select(projects.c.account_id).where(projects.c.id == experiment.project_id)
            account_id: str | None = connection.scalar(account)
            if account_id is None:
                raise NotFoundError("project", experiment.project_id)
            return review_facts(connection, account_id, experiment.project_id, experiment.id)

    def delete(
        self, project_id: str, experiment_id: str, decide: Callable[[Experiment], object], *, actor: str
    ) -> None:
        """Delete an experiment and audit that; where `decide` raises, nothing changes."""
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            experiment = _experiment_from(_locate(connection, project_id, experiment_id, lock=True))
            decide(experiment)
            remove(connection, account_id, actor, experiment)


# SQLite binds 32,766 values at most.
_IDS_AT_ONCE: Final = 10_000
# As text, so that a document that was read before is not decoded again.
_DOCUMENT = select(cast(experiments.c.document, Text).label("document"))


def _are_of(
    project_id: str, statuses: Iterable[Status] | None, *, with_holdouts: bool = False
) -> tuple[Any, ...]:
    of_project = experiments.c.project_id == project_id
    is_of_kind = () if with_holdouts else (not_(experiments.c.is_holdout),)
    has_status = () if statuses is None else (experiments.c.status.in_(tuple(statuses)),)
    return (of_project, *is_of_kind, *has_status)


def _locate(
    connection: Connection,
    project_id: str,
    experiment_id: str,
    *,
    lock: bool = False,
    with_holdouts: bool = False,
) -> str:
    is_of_kind = _are_of(project_id, None, with_holdouts=with_holdouts)
    query = _DOCUMENT.where(*is_of_kind, experiments.c.id == experiment_id)
    text: str | None = connection.scalar(query.with_for_update() if lock else query)
    if text is None:
        raise NotFoundError("experiment", experiment_id)
    return text


def _experiment_from(text: str) -> Experiment:
    return value_from(text, Experiment)


def _write(
    connection: Connection, write: Insert | Update, experiment: Experiment, document: dict[str, Any]
) -> None:
    row = {
        "id": experiment.id,
        "project_id": experiment.project_id,
        "test_key": experiment.test_key,
        "status": experiment.status,
        "document": document,
        "created_at": experiment.created_at,
        "updated_at": experiment.updated_at,
        "version": next_version(connection, experiment.project_id),
        "payload_bytes": payload_bytes(experiment),
        "is_holdout": experiment.is_holdout,
    }
    connection.execute(write.values(row))
    if not experiment.is_holdout:
        write_listing(connection, experiment)


def experiments_in(
    connection: Connection, project_id: str, statuses: Iterable[Status] | None, *, with_holdouts: bool = False
) -> list[Experiment]:
    """List the experiments of a project in those statuses, oldest first, in the caller's transaction."""
    of_kind = _are_of(project_id, statuses, with_holdouts=with_holdouts)
    query = _DOCUMENT.where(*of_kind).order_by(experiments.c.created_at, experiments.c.id)
    return [_experiment_from(text) for text in connection.scalars(query)]


def _tests_and_rollouts(connection: Connection, project_id: str) -> list[Experiment]:
    """List the experiments of a project that change pages, oldest first."""
    # The id of a rollout begins so; the text may stand elsewhere, too.
    has_rollout = cast(experiments.c.document, Text).contains('"rol_', autoescape=True)
    query = _DOCUMENT.where(
        *_are_of(project_id, None), experiments.c.status.in_(TESTS) | has_rollout
    ).order_by(experiments.c.created_at, experiments.c.id)
    found = map(_experiment_from, connection.scalars(query))
    return [one for one in found if one.status in TESTS or one.shipped is not None]


def save_new(connection: Connection, account_id: str, actor: str, experiment: Experiment) -> None:
    """Save and audit a new experiment of a locked project, in the caller's transaction."""
    document = document_of(experiment)
    _write(connection, experiments.insert(), experiment, document)
    record(connection, account_id, actor, experiment.id, changes_between({}, document))


def remove(connection: Connection, account_id: str, actor: str, experiment: Experiment) -> None:
    """Delete an experiment of a locked project and audit that, in the caller's transaction."""
    connection.execute(experiments.delete().where(experiments.c.id == experiment.id))
    next_version(connection, experiment.project_id)
    record(connection, account_id, actor, experiment.id, changes_between(document_of(experiment), {}))


def save_change(
    connection: Connection, account_id: str, actor: str, before: Experiment, after: Experiment
) -> None:
    """Save and audit a changed experiment of a locked project, in the caller's transaction."""
    _save_steps(connection, account_id, before, [(actor, lambda _: after)])


def unassign_member(connection: Connection, account_id: str, member_id: str, actor: str) -> None:
    """Take a member out of the experiments that it is assigned to, in the caller's transaction."""
    own = select(projects.c.id).where(projects.c.account_id == account_id).order_by(projects.c.id)
    for project_id in connection.scalars(own).all():
        lock_project(connection, project_id)
        named = cast(experiments.c.document, Text).contains(member_id, autoescape=True)
        texts = connection.scalars(_DOCUMENT.where(*_are_of(project_id, None), named)).all()
        for before in map(_experiment_from, texts):
            others = tuple(one for one in before.assigned_user_ids if one != member_id)
            # The id may stand elsewhere in the document, as in a text.
            if others != before.assigned_user_ids:
                save_change(connection, account_id, actor, before, replace(before, assigned_user_ids=others))


def _save_steps(
    connection: Connection, account_id: str, experiment: Experiment, steps: Sequence[tuple[str, Decide]]
) -> Experiment:
    document = document_of(experiment)
    for number, (actor, decide) in enumerate(steps, start=1):
        before, experiment = experiment, decide(experiment)
        if number == len(steps):
            # One that starts and ends at once needs none.
            experiment = given_slots(connection, experiment)
        _require_own_key(connection, before, experiment)
        if payload_bytes(experiment) > payload_bytes(before):
            require_room(connection, experiment)
        previous, document = document, document_of(experiment)
        record(connection, account_id, actor, experiment.id, changes_between(previous, document))
        if not experiment.is_holdout:
            announce_change(connection, before, experiment)
    is_this = experiments.c.id == experiment.id
    _write(connection, experiments.update().where(is_this), experiment, document)
    return experiment


def _test_keys(connection: Connection, project_id: str) -> frozenset[str]:
    query = select(experiments.c.test_key).where(experiments.c.project_id == project_id)
    return frozenset(connection.scalars(query))


def _require_own_key(connection: Connection, before: Experiment, after: Experiment) -> None:
    if after.test_key != before.test_key and after.test_key in _test_keys(connection, before.project_id):
        raise InvalidDesignError(
            [
                Problem(
                    "test_key", f"{after.test_key!r} is another experiment's of this project; choose another"
                )
            ]
        )
