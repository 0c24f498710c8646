"""Audit trail: one entry for every write, in the transaction of that write.

What happens without a write has an entry with a field of that name, such as `exported`.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, Text, and_, cast, func, not_, or_, select

from pipeline.clock import utc_now
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.pagination import Page, fetch_page
from pipeline.store.catalog.schema import accounts, audit

Action = Literal["created", "changed", "deleted", "exported", "backed_up", "tested", "refused"]
# Actions that change nothing of their subject; an entry about one has a field of its name.
BESIDE_CHANGES: Final[tuple[Action, ...]] = ("exported", "backed_up", "tested", "refused")
# Of an account, whose writes of a day are fewer unless a program makes them.
MOST_RECENT: Final = 2_000
# Of a subject that tells when it was changed; a start at the time of its draft changes the second alone.
_TIMES: Final = ("updated_at", "started_at")
# Python has 1 and true as equal, which payloads tell apart.
_encode: Final = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A write; `changes` maps each field that differs to [before, after]."""

    id: str
    at: datetime
    account_id: str
    actor: str
    subject_id: str
    changes: Mapping[str, Any]

    @property
    def happened_at(self) -> datetime:
        """Time of the change by its subject, which a simulated past has; else that of the entry."""
        changed = next((self.changes[name] for name in _TIMES if name in self.changes), None)
        after = changed[1] if isinstance(changed, list) and len(changed) > 1 else None
        return min(self.at, datetime.fromisoformat(after)) if isinstance(after, str) else self.at


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """What entries are wanted; all of them where nothing is given.

    `prefix` begins the ids of a kind of subject. Entries of a project are its own, and those of all that it
    has or had. Times are aware: from `since` on, and before `until`.
    """

    subject_id: str | None = None
    prefix: str | None = None
    actor: str | None = None
    action: Action | None = None
    project_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None


class Audit:
    """Repository of the audit trail; entries are only added."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, subject_id: str) -> list[AuditEntry]:
        """List the entries of an object, oldest first."""
        query = select(audit).where(audit.c.subject_id == subject_id).order_by(audit.c.at, audit.c.id)
        with self._database.read() as connection:
            return [AuditEntry(**row) for row in connection.execute(query).mappings()]

    def page(
        self, account_id: str, *, subject_id: str | None = None, page: int = 1, per_page: int = 25
    ) -> Page[AuditEntry]:
        """List a page of an account's entries, newest first, or of those of one object."""
        return self.find(account_id, AuditFilter(subject_id=subject_id), page=page, per_page=per_page)

    def find(
        self, account_id: str, wanted: AuditFilter, *, page: int = 1, per_page: int = 25
    ) -> Page[AuditEntry]:
        """List a page of an account's entries that are wanted, newest first."""
        query = select(audit).where(audit.c.account_id == account_id, *_conditions(account_id, wanted))
        # Entries of one moment in the order that they were written in is not known: by id.
        query = query.order_by(audit.c.at.desc(), audit.c.id)
        with self._database.read() as connection:
            rows, total = fetch_page(connection, query, page, per_page)
        return Page([AuditEntry(**row) for row in rows], page, per_page, total)

    def since(self, account_id: str, since: datetime, subject_ids: AbstractSet[str]) -> list[AuditEntry]:
        """List the newest entries of an account since a time, of those objects, newest first."""
        query = (
            select(audit)
            .where(audit.c.account_id == account_id, audit.c.at >= since)
            .order_by(audit.c.at.desc(), audit.c.id)
            .limit(MOST_RECENT)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).mappings()
            return [AuditEntry(**row) for row in rows if row["subject_id"] in subject_ids]

    def newest_time(self) -> datetime | None:
        """Return the time of the newest entry of any account; None without entries."""
        with self._database.read() as connection:
            newest: datetime | None = connection.scalar(select(func.max(audit.c.at)))
        return newest

    def add(self, account_id: str, actor: str, subject_id: str, changes: Mapping[str, Any]) -> None:
        """Add an entry about what is not in the catalog, in a transaction of its own."""
        with self._database.write() as connection:
            record(connection, account_id, actor, subject_id, changes)

    def add_to_all(self, actor: str, changes: Mapping[str, Any]) -> None:
        """Add an entry about each account to its trail."""
        with self._database.write() as connection:
            for account_id in connection.scalars(select(accounts.c.id)).all():
                record(connection, account_id, actor, account_id, changes)

    def was_deleted(self, subject_id: str) -> bool:
        """Return whether an object was deleted; ids are never reused."""
        return any(entry.changes.get("id") == [subject_id, None] for entry in self.of(subject_id))


def _conditions(account_id: str, wanted: AuditFilter) -> list[ColumnElement[bool]]:
    given = (
        (audit.c.subject_id.__eq__, wanted.subject_id),
        (audit.c.actor.__eq__, wanted.actor),
        (audit.c.at.__ge__, wanted.since),
        (audit.c.at.__lt__, wanted.until),
    )
    found: list[ColumnElement[bool]] = [compare(value) for compare, value in given if value is not None]
    if wanted.prefix is not None:
        found.append(audit.c.subject_id.startswith(f"{wanted.prefix}_", autoescape=True))
    if wanted.action is not None:
        found.append(_is_action(wanted.action))
    if wanted.project_id is not None:
        found.append(_is_of_project(account_id, wanted.project_id))
    return found


def _value(field: str, place: int) -> ColumnElement[str]:
    """Select the value of a field before (0) or after (1) a write; null where it has none."""
    value: ColumnElement[str] = audit.c.changes[(field, place)].as_string()
    return value


def _is_action(action: Action) -> ColumnElement[bool]:
    """Require an action: by the field of its name, or by the id of what was created or deleted."""
    beside = [_value(name, 1).is_not(None) for name in BESIDE_CHANGES]
    if action in BESIDE_CHANGES:
        return _value(action, 1).is_not(None)
    had, has = (_value("id", place).is_not(None) for place in (0, 1))
    return and_(not_(or_(*beside)), {"created": has, "deleted": had}.get(action, not_(or_(had, has))))


def _is_of_project(account_id: str, project_id: str) -> ColumnElement[bool]:
    """Require the project itself as the subject, or what has been created in it."""
    created = select(audit.c.subject_id).where(
        audit.c.account_id == account_id,
        # Most entries have the id nowhere, and need no reading as JSON.
        cast(audit.c.changes, Text).contains(project_id, autoescape=True),
        or_(_value("project_id", 0) == project_id, _value("project_id", 1) == project_id),
    )
    return or_(audit.c.subject_id == project_id, audit.c.subject_id.in_(created))


def record(
    connection: Connection, account_id: str, actor: str, subject_id: str, changes: Mapping[str, Any]
) -> None:
    """Add an entry in the caller's transaction."""
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
    """Map each field that differs to [before, after]; `before` is empty for a new object."""
    return {
        field: [before.get(field), after.get(field)]
        for field in {**before, **after}
        if _encode(before.get(field)) != _encode(after.get(field))
    }
