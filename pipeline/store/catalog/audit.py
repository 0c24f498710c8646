"""Who changed what, and when: one entry for every write, in the transaction of that write."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from pipeline.clock import utc_now
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import audit


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One write. `changes` is field → [before, after], for the fields that differ."""

    id: str
    at: datetime
    account_id: str
    actor: str
    subject_id: str
    changes: Mapping[str, Any]


class Audit:
    """The trail; entries are only ever added."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, subject_id: str) -> list[AuditEntry]:
        """Everything that happened to one thing, oldest first."""
        query = select(audit).where(audit.c.subject_id == subject_id).order_by(audit.c.at, audit.c.id)
        with self._database.read() as connection:
            return [AuditEntry(**row) for row in connection.execute(query).mappings()]

    def tells_of_deletion(self, subject_id: str) -> bool:
        """Whether a thing was deleted; its id is never given again."""
        return any(entry.changes.get("id") == [subject_id, None] for entry in self.of(subject_id))


def record(
    connection: Connection, account_id: str, actor: str, subject_id: str, changes: Mapping[str, Any]
) -> None:
    """Write one entry in the caller's transaction."""
    entry = AuditEntry(
        id=new_id("aud"),
        at=utc_now(),
        account_id=account_id,
        actor=actor,
        subject_id=subject_id,
        changes=changes,
    )
    connection.execute(audit.insert().values(asdict(entry)))


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Field → [before, after] where they differ; `before` is empty where something is new."""
    return {
        field: [before.get(field), after.get(field)]
        for field in {**before, **after}
        if before.get(field) != after.get(field)
    }
