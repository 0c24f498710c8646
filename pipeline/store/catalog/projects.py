"""Projects: stored as documents, found by id, account and public key."""

from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, func, or_, select

from engine.design.project import Project
from pipeline.clock import utc_now
from pipeline.store.catalog.accounts import account_from
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import NotFoundError, PlanLimitError
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.schema import (
    accounts,
    experiments,
    previous_sdk_keys,
    projects,
    share_links,
    warehouses,
)
from pipeline.store.catalog.sharing.link_endings import end_links
from pipeline.store.documents import document_of, value_of


class Projects:
    """Repository of projects."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, project: Project, *, actor: str) -> Project:
        """Save a new project; PlanLimitError where the account has reached its limit."""
        with self._database.write() as connection:
            _require_room(connection, project.account_id)
            document = document_of(project)
            owned = {"warehouse_id": select(warehouses.c.id).scalar_subquery()}
            connection.execute(projects.insert().values(**_row_of(project, document), **owned))
            record(connection, project.account_id, actor, project.id, changes_between({}, document))
        return project

    def get(self, account_id: str, project_id: str) -> Project:
        """Return a project of an account; NotFoundError."""
        return self._one(_DOCUMENT.where(*_is(account_id, project_id)), project_id)

    def find(self, project_id: str) -> Project:
        """Return a project of any account; NotFoundError."""
        return self._one(_DOCUMENT.where(projects.c.id == project_id), project_id)

    def by_sdk_key(self, sdk_key: str) -> Project:
        """Return the project of a public key that works now; NotFoundError."""
        replaced = select(previous_sdk_keys.c.project_id).where(previous_sdk_keys.c.sdk_key == sdk_key)
        is_its_key = or_(projects.c.sdk_key == sdk_key, projects.c.id.in_(replaced))
        project = self._one(_DOCUMENT.where(is_its_key), sdk_key)
        if not project.accepts(sdk_key, now=utc_now()):
            raise NotFoundError("project", sdk_key)
        return project

    def all(self) -> list[Project]:
        """List all projects, oldest first."""
        query = _DOCUMENT.order_by(projects.c.created_at, projects.c.id)
        with self._database.read() as connection:
            return [_project_from(row) for row in connection.execute(query).mappings()]

    def page(
        self, account_id: str, *, only: Collection[str] = (), page: int = 1, per_page: int = 25
    ) -> Page[Project]:
        """List a page of an account's projects, last updated first; of those in `only` where not empty."""
        query = _DOCUMENT.where(projects.c.account_id == account_id).order_by(
            projects.c.updated_at.desc(), projects.c.created_at.desc(), projects.c.id
        )
        if only:
            query = query.where(projects.c.id.in_(only))
        with self._database.read() as connection:
            rows, total = fetch_page(connection, query, page, per_page)
        return Page([_project_from(row) for row in rows], page, per_page, total)

    def names(self, account_id: str, *, only: Collection[str] = ()) -> list[tuple[str, str]]:
        """List ids and names of an account's projects, by name; of those in `only` where not empty."""
        name = projects.c.document["name"].as_string()
        query = select(projects.c.id, name).where(projects.c.account_id == account_id)
        if only:
            query = query.where(projects.c.id.in_(only))
        with self._database.read() as connection:
            found = [(row[0], row[1]) for row in connection.execute(query)]
        return sorted(found, key=lambda one: (one[1].casefold(), one[0]))

    def ids(self, account_id: str | None = None) -> set[str]:
        """Return the ids of all projects, or of those of an account."""
        query = select(projects.c.id)
        if account_id is not None:
            query = query.where(projects.c.account_id == account_id)
        with self._database.read() as connection:
            return set(connection.scalars(query))

    def count(self, account_id: str) -> int:
        """Count the projects of an account."""
        with self._database.read() as connection:
            return _count(connection, account_id)

    def change(
        self, account_id: str, project_id: str, decide: Callable[[Project], Project], *, actor: str
    ) -> Project:
        """Load a project, change it by `decide`, save and audit it, in one transaction.

        The project is locked while `decide` runs; where it raises, nothing changes.
        """
        is_this = _is(account_id, project_id)
        with self._database.write() as connection:
            row = connection.execute(_DOCUMENT.where(*is_this).with_for_update()).mappings().one_or_none()
            if row is None:
                raise NotFoundError("project", project_id)
            before = _project_from(row)
            after = decide(before)
            document = document_of(after)
            connection.execute(projects.update().where(*is_this).values(_row_of(after, document)))
            if after.previous_sdk_keys != before.previous_sdk_keys:
                _save_previous_keys(connection, after)
            if not after.allows_share_links:
                its_own = share_links.c.project_id == project_id
                end_links(connection, its_own, account_id=account_id, actor=actor, now=utc_now())
            record(connection, account_id, actor, project_id, changes_between(row["document"], document))
        return after

    def delete(self, account_id: str, project_id: str, *, actor: str) -> None:
        """Delete a project with its experiments, and audit that; NotFoundError."""
        is_this = _is(account_id, project_id)
        of_this = select(experiments.c.id, experiments.c.document).where(
            experiments.c.project_id == project_id
        )
        with self._database.write() as connection:
            row = connection.execute(_DOCUMENT.where(*is_this).with_for_update()).mappings().one_or_none()
            if row is None:
                raise NotFoundError("project", project_id)
            removed = {row.id: row.document for row in connection.execute(of_this)}
            connection.execute(experiments.delete().where(experiments.c.project_id == project_id))
            connection.execute(projects.delete().where(*is_this))
            for subject_id, document in {**removed, project_id: row["document"]}.items():
                record(connection, account_id, actor, subject_id, changes_between(document, {}))

    def _one(self, query: Select[Any], identifier: str) -> Project:
        with self._database.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise NotFoundError("project", identifier)
        return _project_from(row)


_DOCUMENT = select(projects.c.document)


def _is(account_id: str, project_id: str) -> tuple[Any, Any]:
    return projects.c.account_id == account_id, projects.c.id == project_id


def _project_from(row: RowMapping) -> Project:
    return value_of(row["document"], Project)


def _row_of(project: Project, document: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": project.id,
        "account_id": project.account_id,
        "sdk_key": project.sdk_key,
        "document": document,
        "created_at": project.created_at,
        "updated_at": project.updated_at,
    }


def _save_previous_keys(connection: Connection, project: Project) -> None:
    connection.execute(previous_sdk_keys.delete().where(previous_sdk_keys.c.project_id == project.id))
    rows = [{"sdk_key": key.sdk_key, "project_id": project.id} for key in project.previous_sdk_keys]
    if rows:
        connection.execute(previous_sdk_keys.insert(), rows)


def _count(connection: Connection, account_id: str) -> int:
    return connection.scalar(select(func.count()).where(projects.c.account_id == account_id)) or 0


def _require_room(connection: Connection, account_id: str) -> None:
    # The account's row is locked, so that two creations cannot both reach the limit.
    query = select(accounts).where(accounts.c.id == account_id).with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFoundError("account", account_id)
    account = account_from(row)
    if _count(connection, account_id) >= account.max_projects:
        raise PlanLimitError(account.plan_name, account.max_projects)
