"""Repository of metrics: stored as documents, and followed by the experiments that have not started."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Text, cast, not_, select

from engine.design.metrics.metric import Metric
from engine.design.metrics.metric_goals import FOLLOWING, require_following, uses
from engine.errors import InvalidDesignError, Problem
from engine.validation.values import shown
from engine.vocabulary import Status
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import MetricInUseError, NotFoundError
from pipeline.store.catalog.experiments import experiments_in, save_change
from pipeline.store.catalog.metrics.project_metrics import METRIC_DOCUMENT, metrics_of
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.project_lock import lock_project
from pipeline.store.catalog.schema import experiments, metrics
from pipeline.store.documents import document_of, value_from

MOST_METRICS: Final = 500


@dataclass(frozen=True, slots=True)
class GoalMetric:
    """The metric of a goal, and the version of it that the goal has; None of a goal without one."""

    metric_id: str | None = None
    metric_version: int | None = None


@dataclass(frozen=True, slots=True)
class MetricUser:
    """An experiment, as far as it says which metrics it uses."""

    id: str
    name: str
    status: Status
    goals: tuple[GoalMetric, ...]


_USER: Final = msgspec.json.Decoder(MetricUser)


class Metrics:
    """Repository of metrics; they are deleted with their project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, metric: Metric, *, actor: str) -> Metric:
        """Save a new metric; NotFoundError for an unknown project.

        InvalidDesignError where its name is taken, or the project has as many metrics as it may.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, metric.project_id)
            others = metrics_of(connection, metric.project_id)
            if len(others) >= MOST_METRICS:
                message = f"the project has {MOST_METRICS} metrics, the most that are possible; delete some"
                raise InvalidDesignError([Problem("body", message)])
            _require_own_name(metric, others)
            document = document_of(metric)
            connection.execute(metrics.insert().values(_row_of(metric, document)))
            record(connection, account_id, actor, metric.id, changes_between({}, document))
        return metric

    def get(self, project_id: str, metric_id: str) -> Metric:
        """Return a metric of a project; NotFoundError."""
        with self._database.read() as connection:
            return _find(connection, project_id, metric_id)

    def page(self, project_id: str, *, page: int = 1, per_page: int = 25) -> Page[Metric]:
        """List a page of a project's metrics, last updated first."""
        query = METRIC_DOCUMENT.where(metrics.c.project_id == project_id).order_by(
            metrics.c.updated_at.desc(), metrics.c.created_at.desc(), metrics.c.id
        )
        with self._database.read() as connection:
            rows, total = fetch_page(connection, query, page, per_page)
        return Page([value_from(row["document"], Metric) for row in rows], page, per_page, total)

    def users(self, project_id: str) -> dict[str, list[MetricUser]]:
        """Map the id of each metric of a project to the tests with a goal of it, oldest first."""
        query = select(cast(experiments.c.document, Text)).where(
            experiments.c.project_id == project_id, not_(experiments.c.is_holdout)
        )
        query = query.order_by(experiments.c.created_at, experiments.c.id)
        users: dict[str, list[MetricUser]] = {}
        with self._database.read() as connection:
            for text in connection.scalars(query):
                user = _USER.decode(text)
                for goal in user.goals:
                    if goal.metric_id is not None:
                        users.setdefault(goal.metric_id, []).append(user)
        return users

    def change(
        self,
        project_id: str,
        metric_id: str,
        decide: Callable[[Metric], Metric],
        *,
        now: datetime,
        actor: str,
    ) -> Metric:
        """Load a metric, change it by `decide`, and save and audit it, in one transaction.

        Experiments that have not started get the new version in the same transaction; all others keep
        theirs. Where `decide` raises, or one of those experiments would be invalid, nothing changes.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            before = _find(connection, project_id, metric_id)
            after = decide(before)
            _require_own_name(after, metrics_of(connection, project_id))
            documents = document_of(before), document_of(after)
            is_this = metrics.c.id == metric_id
            connection.execute(metrics.update().where(is_this).values(_row_of(after, documents[1])))
            record(connection, account_id, actor, metric_id, changes_between(*documents))
            for experiment in experiments_in(connection, project_id, FOLLOWING):
                changed = require_following(experiment, before, after, now=now)
                if changed is not experiment:
                    save_change(connection, account_id, actor, experiment, changed)
        return after

    def delete(self, project_id: str, metric_id: str, *, actor: str) -> None:
        """Delete a metric and audit that; NotFoundError.

        MetricInUseError where an experiment that has not started uses it. Started ones keep their version.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            metric = _find(connection, project_id, metric_id)
            unstarted = experiments_in(connection, project_id, FOLLOWING)
            users = [experiment.name for experiment in unstarted if uses(experiment, metric_id)]
            if users:
                raise MetricInUseError(metric.name, users)
            connection.execute(metrics.delete().where(metrics.c.id == metric_id))
            record(connection, account_id, actor, metric_id, changes_between(document_of(metric), {}))


def _find(connection: Connection, project_id: str, metric_id: str) -> Metric:
    query = METRIC_DOCUMENT.where(metrics.c.project_id == project_id, metrics.c.id == metric_id)
    text: str | None = connection.scalar(query)
    if text is None:
        raise NotFoundError("metric", metric_id)
    return value_from(text, Metric)


def _require_own_name(metric: Metric, others: dict[str, Metric]) -> None:
    if any(other.name == metric.name and other.id != metric.id for other in others.values()):
        message = f"{shown(metric.name)} is another metric's of this project; choose another"
        raise InvalidDesignError([Problem("name", message)])


def _row_of(metric: Metric, document: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": metric.id,
        "project_id": metric.project_id,
        "name": metric.name,
        "document": document,
        "created_at": metric.created_at,
        "updated_at": metric.updated_at,
    }
