"""Holdouts of projects and groups: experiments that decide who sees the tests, at most one of each active."""

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, Text, cast, select

from engine.design.experiment import Experiment
from engine.design.holdout import ACTIVE
from engine.design.metrics.metric import Metric
from engine.errors import InvalidDesignError, Problem, TransitionError
from engine.validation.values import shown
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.exclusion.group_uses import group_in
from pipeline.store.catalog.experiments import remove, save_change, save_new
from pipeline.store.catalog.metrics.project_metrics import metrics_of
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.project_lock import lock_project
from pipeline.store.catalog.schema import experiments
from pipeline.store.documents import value_from

Build = Callable[[Mapping[str, Metric]], Experiment]
_DOCUMENT = select(cast(experiments.c.document, Text).label("document")).where(experiments.c.is_holdout)
_NEWEST_FIRST = (experiments.c.created_at.desc(), experiments.c.id)


class Holdouts:
    """Repository of holdouts, each an experiment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, project_id: str, build: Build, *, actor: str) -> Experiment:
        """Save and audit the holdout that `build` makes, given the project's metrics.

        NotFoundError for an unknown project, InvalidDesignError for an unknown group; TransitionError
        `holdout_active` beside another one of the same project or group that is scheduled or in force. Where
        `build` raises, nothing is saved.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            holdout = build(metrics_of(connection, project_id))
            _require_group(connection, holdout)
            _require_no_other(connection, holdout)
            save_new(connection, account_id, actor, holdout)
        return holdout

    def get(self, project_id: str, holdout_id: str) -> Experiment:
        """Return a holdout of a project; NotFoundError."""
        with self._database.read() as connection:
            return _located(connection, project_id, holdout_id)

    def page(self, project_id: str, *, page: int = 1, per_page: int = 25) -> Page[Experiment]:
        """List a page of a project's holdouts, newest first."""
        query = _DOCUMENT.where(experiments.c.project_id == project_id).order_by(*_NEWEST_FIRST)
        with self._database.read() as connection:
            rows, total = fetch_page(connection, query, page, per_page)
        return Page([value_from(row["document"], Experiment) for row in rows], page, per_page, total)

    def change(
        self, project_id: str, holdout_id: str, decide: Callable[[Experiment], Experiment], *, actor: str
    ) -> Experiment:
        """Change a holdout by `decide`, save and audit it; NotFoundError.

        Where `decide` raises, nothing changes.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            before = _located(connection, project_id, holdout_id, lock=True)
            after = decide(before)
            save_change(connection, account_id, actor, before, after)
        return after

    def delete(
        self, project_id: str, holdout_id: str, decide: Callable[[Experiment], object], *, actor: str
    ) -> None:
        """Delete a holdout and audit that; where `decide` raises, nothing changes. NotFoundError."""
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            holdout = _located(connection, project_id, holdout_id, lock=True)
            decide(holdout)
            remove(connection, account_id, actor, holdout)


def _require_group(connection: Connection, holdout: Experiment) -> None:
    group_id = holdout.held_group_id
    if group_id is not None and group_in(connection, holdout.project_id, group_id) is None:
        message = f"no group of the project has the id {shown(group_id)}; choose another, or null for none"
        raise InvalidDesignError([Problem("group_id", message)])


def _require_no_other(connection: Connection, holdout: Experiment) -> None:
    is_active = experiments.c.status.in_(ACTIVE)
    texts = connection.scalars(_DOCUMENT.where(experiments.c.project_id == holdout.project_id, is_active))
    for other in (value_from(text, Experiment) for text in texts):
        if other.held_group_id == holdout.held_group_id:
            what = "project" if other.held_group_id is None else "group"
            message = f"the {what} has the holdout '{other.name}'; end it first"
            raise TransitionError("holdout_active", message)


def _located(connection: Connection, project_id: str, holdout_id: str, *, lock: bool = False) -> Experiment:
    query = _DOCUMENT.where(experiments.c.project_id == project_id, experiments.c.id == holdout_id)
    text: str | None = connection.scalar(query.with_for_update() if lock else query)
    if text is None:
        raise NotFoundError("holdout", holdout_id)
    return value_from(text, Experiment)
