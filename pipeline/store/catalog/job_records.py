"""Records of jobs of projects: the last period that each was done for, and the tries since."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import NotFoundError
from pipeline.store.catalog.schema import job_records


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """The last `period` that a job was done for, None before the first, and how often it was begun since."""

    period: str | None = None
    tries: int = 0
    tried_at: datetime | None = None


NEVER_DONE: Final = JobRecord()


class JobRecords:
    """Repository of jobs' records; they are deleted with their project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, job: str) -> dict[str, JobRecord]:
        """Return the records of a job by project id."""
        query = select(job_records).where(job_records.c.job == job)
        with self._database.read() as connection:
            return {
                row["project_id"]: JobRecord(
                    period=row["period"], tries=row["tries"], tried_at=row["tried_at"]
                )
                for row in connection.execute(query).mappings()
            }

    def note_try(self, job: str, project_id: str, *, now: datetime) -> None:
        """Note that a job is begun, before its work: a try that ends the process counts; NotFoundError."""
        self._save(job, project_id, {"tries": job_records.c.tries + 1, "tried_at": now}, tries=1)

    def note_done(self, job: str, project_id: str, period: str) -> None:
        """Note that a job was done for a period, after its work; NotFoundError."""
        self._save(job, project_id, {"period": period, "tries": 0, "tried_at": None}, tries=0)

    def _save(self, job: str, project_id: str, values: dict[str, Any], *, tries: int) -> None:
        key = {"job": job, "project_id": project_id}
        try:
            with self._database.write() as connection:
                if not _update(connection, key, values):
                    connection.execute(job_records.insert().values({**key, **values, "tries": tries}))
        except IntegrityError as error:
            raise NotFoundError("project", project_id) from error


def _update(connection: Connection, key: dict[str, str], values: dict[str, Any]) -> bool:
    update = job_records.update().values(values)
    for name, value in key.items():
        update = update.where(job_records.c[name] == value)
    return connection.execute(update).rowcount == 1
