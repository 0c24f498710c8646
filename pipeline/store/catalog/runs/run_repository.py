"""Repository of runs, and the queue of those to come."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, func, or_, select
from sqlalchemy.exc import IntegrityError

from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import KeyReusedError, NotFoundError, QueueFullError
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.runs.run_record import Kind, Run, Status
from pipeline.store.catalog.schema import projects, runs

KEPT_FOR: Final = timedelta(days=90)
# There may be one every minute.
SCHEDULED_ROLLUPS_KEPT_FOR: Final = timedelta(days=1)
# A run that ends the process each time must not be begun for ever.
MOST_ATTEMPTS: Final = 3
# Queued runs of one project, and of all projects of one account.
MOST_QUEUED_OF_PROJECT: Final = 20
MOST_QUEUED_OF_ACCOUNT: Final = 100
_INTERRUPTED: Final = "the process ended before the run did"


class Runs:
    """Repository of runs; they are deleted with their project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run: Run) -> Run:
        """Save a new run, or return the one with its idempotency key; old runs of its project are deleted.

        NotFoundError for an unknown project; KeyReusedError where the key is that of another kind of run or
        of other parameters.
        """
        return self._add(run)

    def queue(self, run: Run, *, actor: str) -> Run:
        """Save a new run as `add`, and audit who asked for it.

        QueueFullError where too many of its project or account wait already.
        """
        return self._add(run, actor)

    def _add(self, run: Run, actor: str | None = None) -> Run:
        try:
            with self._database.write() as connection:
                known = _by_key(connection, run)
                if known is None:
                    account_id = _account_of(connection, run.project_id)
                    if actor is not None:
                        _require_short_queue(connection, run.project_id, account_id)
                        asked = {"id": run.id, "project_id": run.project_id, "kind": run.kind}
                        record(connection, account_id, actor, run.id, changes_between({}, asked))
                    # Stores that only commands use have no job that deletes them.
                    of_project = runs.c.project_id == run.project_id
                    connection.execute(runs.delete().where(of_project, _is_old(run.created_at)))
                    connection.execute(runs.insert().values(asdict(run)))
        except IntegrityError:
            # PostgreSQL lets two transactions look at once; the second insert fails.
            with self._database.read() as connection:
                known = _by_key(connection, run)
            if known is None:
                raise
        if known is None:
            return run
        if (known.kind, known.parameters) != (run.kind, run.parameters):
            raise KeyReusedError(f"the key {run.run_key!r} is that of another run, {known.id}; use a new key")
        return known

    def get(self, project_id: str, run_id: str) -> Run:
        """Return a run of a project; NotFoundError."""
        query = select(runs).where(runs.c.project_id == project_id, runs.c.id == run_id)
        with self._database.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise NotFoundError("run", run_id)
        return _run_from(row)

    def page(
        self,
        project_id: str,
        *,
        kind: Kind | None = None,
        status: Status | None = None,
        page: int = 1,
        per_page: int = 25,
    ) -> Page[Run]:
        """List a page of a project's runs, newest first; of that kind and status where given."""
        query = select(runs).where(runs.c.project_id == project_id)
        query = query.order_by(runs.c.created_at.desc(), runs.c.id.desc())
        if kind is not None:
            query = query.where(runs.c.kind == kind)
        if status is not None:
            query = query.where(runs.c.status == status)
        with self._database.read() as connection:
            rows, total = fetch_page(connection, query, page, per_page)
        return Page([_run_from(row) for row in rows], page, per_page, total)

    def next_queued(self, project_id: str) -> Run | None:
        """Return the oldest queued run of a project; None without any."""
        query = (
            select(runs)
            .where(runs.c.project_id == project_id, runs.c.status == "queued")
            .order_by(runs.c.created_at, runs.c.id)
            .limit(1)
        )
        with self._database.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        return None if row is None else _run_from(row)

    def imports(self, project_id: str, *, since: datetime) -> list[Run]:
        """List the imports of a project that ended since a time, or have not ended."""
        query = select(runs).where(
            runs.c.project_id == project_id,
            runs.c.kind == "import",
            or_(runs.c.ended_at.is_(None), runs.c.ended_at >= since),
        )
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [_run_from(row) for row in rows]

    def failed_nights(self, project_id: str, *, since: datetime) -> list[Run]:
        """List the scheduled rebuilds of a project since a time that failed or were interrupted."""
        query = select(runs).where(
            runs.c.project_id == project_id,
            runs.c.kind == "rebuild",
            runs.c.trigger == "schedule",
            runs.c.status.in_(("failed", "interrupted")),
            runs.c.created_at >= since,
        )
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [_run_from(row) for row in rows]

    def all_unended(self) -> list[Run]:
        """List the runs of all projects that are queued or under way."""
        query = select(runs).where(runs.c.status.in_(("queued", "running")))
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [_run_from(row) for row in rows]

    def projects_with_queued(self) -> list[str]:
        """List the ids of projects with queued runs."""
        query = select(runs.c.project_id).where(runs.c.status == "queued").distinct()
        with self._database.read() as connection:
            return sorted(connection.scalars(query))

    def save(self, run: Run) -> Run:
        """Save a changed run; NotFoundError where its project was deleted meanwhile."""
        update = runs.update().where(runs.c.id == run.id).values(asdict(run))
        with self._database.write() as connection:
            if connection.execute(update).rowcount != 1:
                raise NotFoundError("run", run.id)
        return run

    def recover(self, *, now: datetime) -> None:
        """Queue the runs of the API that a process left when it ended, and mark all others `interrupted`.

        For the owner of the store alone, before it begins a run. What the schedule or a command began comes
        again by itself or not at all.
        """
        left = runs.c.status == "running"
        is_resumed = and_(runs.c.trigger == "api", runs.c.attempts < MOST_ATTEMPTS)
        with self._database.read() as connection:
            if connection.scalar(select(runs.c.id).where(left).limit(1)) is None:
                return
        ended = {"status": "interrupted", "ended_at": now, "error": _INTERRUPTED}
        with self._database.write() as connection:
            connection.execute(runs.update().where(left, is_resumed).values(status="queued"))
            connection.execute(runs.update().where(left).values(ended))

    def delete_old(self, *, now: datetime) -> int:
        """Delete runs that ended long ago, and return their number."""
        with self._database.write() as connection:
            return connection.execute(runs.delete().where(_is_old(now))).rowcount


def _is_old(now: datetime) -> ColumnElement[bool]:
    is_scheduled_rollup = and_(runs.c.kind == "rollup", runs.c.trigger == "schedule")
    return or_(
        runs.c.ended_at < now - KEPT_FOR,
        and_(is_scheduled_rollup, runs.c.ended_at < now - SCHEDULED_ROLLUPS_KEPT_FOR),
    )


def _by_key(connection: Connection, run: Run) -> Run | None:
    if run.run_key is None:
        return None
    query = select(runs).where(runs.c.project_id == run.project_id, runs.c.run_key == run.run_key)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else _run_from(row)


def _account_of(connection: Connection, project_id: str) -> str:
    # The project's row is locked, so that it cannot be deleted until the commit.
    query = select(projects.c.account_id).where(projects.c.id == project_id).with_for_update()
    account_id = connection.scalar(query)
    if account_id is None:
        raise NotFoundError("project", project_id)
    return str(account_id)


def _require_short_queue(connection: Connection, project_id: str, account_id: str) -> None:
    queued = (
        select(runs.c.project_id, func.count())
        .join(projects, projects.c.id == runs.c.project_id)
        .where(projects.c.account_id == account_id, runs.c.status == "queued")
        .group_by(runs.c.project_id)
    )
    numbers = {str(project): int(number) for project, number in connection.execute(queued)}
    if numbers.get(project_id, 0) >= MOST_QUEUED_OF_PROJECT:
        raise QueueFullError("project", MOST_QUEUED_OF_PROJECT)
    if sum(numbers.values()) >= MOST_QUEUED_OF_ACCOUNT:
        raise QueueFullError("account", MOST_QUEUED_OF_ACCOUNT)


def _run_from(row: RowMapping) -> Run:
    return Run(**{**row, "drift": tuple(row["drift"])})
