"""Lock of a project's row, under which its experiments, metrics and messages change."""

from sqlalchemy import Connection, select

from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.schema import projects


def lock_project(connection: Connection, project_id: str) -> str:
    """Lock a project until the commit, and return the id of its account; NotFoundError.

    Its test keys and metrics cannot change meanwhile.
    """
    query = select(projects.c.account_id).where(projects.c.id == project_id).with_for_update()
    account_id: str | None = connection.scalar(query)
    if account_id is None:
        raise NotFoundError("project", project_id)
    return account_id
