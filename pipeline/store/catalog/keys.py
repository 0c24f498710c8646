"""API keys: member, scopes, projects and token."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, get_args

from sqlalchemy import Connection, RowMapping, or_, select

from engine.errors import Problem
from pipeline.clock import utc_now
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import CatalogBusyError, InvalidRecordError, NotFoundError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.members import COMMAND_LINE, lock_members, managed_member
from pipeline.store.catalog.schema import api_keys, members, projects, sessions, share_links
from pipeline.store.catalog.sharing.link_endings import end_links
from pipeline.store.catalog.tokens import matches, new_token, token_id_of

Scope = Literal[
    "projects:read",
    "projects:write",
    "experiments:read",
    "experiments:write",
    "results:read",
    "account:read",
    "api_keys:write",
    "sdk:write",
]
Environment = Literal["live", "test"]
# No token, one of no key, one with the id of a key but another secret, and one of a key that was revoked or
# whose account is not served.
Refusal = Literal["missing", "unknown", "wrong", "revoked", "inactive"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
ENVIRONMENTS: Final[tuple[Environment, ...]] = get_args(Environment)
# Coarse, since a write for every request would cost more than the request.
LAST_USED_RESOLUTION: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key without its secret; without `project_ids` it reaches every project of the account."""

    id: str
    account_id: str
    member_id: str
    name: str
    environment: Environment
    key_prefix: str
    scopes: tuple[Scope, ...]
    project_ids: tuple[str, ...]
    last_used_at: datetime | None
    revoked_at: datetime | None
    created_at: datetime

    @property
    def is_account_wide(self) -> bool:
        """Whether it reaches every project of its account."""
        return not self.project_ids

    def reaches(self, project_id: str) -> bool:
        """Return whether the key has access to a project of its account."""
        return self.is_account_wide or project_id in self.project_ids


@dataclass(frozen=True, slots=True)
class RefusedKey:
    """A token that opens nothing; `key` is the one with its id, where there is one."""

    reason: Refusal
    key: ApiKey | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """Fields of a key to create, not yet validated."""

    member_id: str
    name: str
    scopes: Collection[str]
    project_ids: Sequence[str] = ()
    environment: str = "live"


class Keys:
    """Repository of API keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(  # noqa: PLR0913, PLR0917 - each is a fact of the key
        self,
        account_id: str,
        member_id: str,
        name: str,
        scopes: Collection[str],
        project_ids: Sequence[str] = (),
        environment: str = "live",
        *,
        actor: str = COMMAND_LINE,
    ) -> tuple[ApiKey, str]:
        """Create a key; returns it and its token, which is not stored.

        NotFoundError for an unknown member of the account; InvalidRecordError names every problem.
        """
        holder = select(members.c.id).where(members.c.account_id == account_id, members.c.id == member_id)
        with self._database.write() as connection:
            if connection.scalar(holder) is None:
                raise NotFoundError("member", member_id)
            new = NewKey(member_id, name, scopes, project_ids, environment)
            return add_key(connection, account_id, new, actor)

    def find_by_token(self, token: str, *, now: datetime) -> ApiKey | RefusedKey:
        """Return the key of a token, or why an unknown, malformed, wrong or revoked one is refused.

        Each of them takes the same work: one look-up, one digest, one comparison in constant time.
        """
        query = select(api_keys).where(api_keys.c.token_id == token_id_of(token))
        with self._database.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        is_match = matches(token, row["digest"] if row else None)
        if row is None:
            return RefusedKey("unknown" if token else "missing")
        key = _key_from(row)
        if not is_match:
            return RefusedKey("wrong", key)
        if key.revoked_at is not None:
            return RefusedKey("revoked", key)
        self._note_use(key, now)
        return key

    def of_account(self, account_id: str) -> list[ApiKey]:
        """List the keys of an account, revoked ones included, newest first."""
        query = (
            select(api_keys)
            .where(api_keys.c.account_id == account_id)
            .order_by(api_keys.c.created_at.desc(), api_keys.c.id.desc())
        )
        with self._database.read() as connection:
            return [_key_from(row) for row in connection.execute(query).mappings()]

    def revoke(
        self,
        account_id: str,
        key_id: str,
        *,
        now: datetime,
        actor: str = COMMAND_LINE,
        by: str | None = None,
    ) -> ApiKey:
        """Revoke a key and end its sessions and share links at once; a revoked one stays as it is.

        `by` is the member that asks for it, and None for an operator. NotFoundError; RoleTooLowError for the
        key of a member of a higher role.
        """
        is_this = (api_keys.c.account_id == account_id) & (api_keys.c.id == key_id)
        with self._database.write() as connection:
            everyone = lock_members(connection, account_id)
            row = connection.execute(select(api_keys).where(is_this)).mappings().one_or_none()
            if row is None:
                raise NotFoundError("key", key_id)
            key = _key_from(row)
            managed_member(everyone, key.member_id, by)
            if key.revoked_at is not None:
                return key
            connection.execute(api_keys.update().where(is_this).values(revoked_at=now))
            # Otherwise each page of a browser that is still open would be one more refused key.
            connection.execute(sessions.delete().where(sessions.c.key_id == key_id))
            made_with_it = share_links.c.key_id == key_id
            end_links(connection, made_with_it, account_id=account_id, actor=actor, now=now)
            record(connection, account_id, actor, key_id, {"revoked_at": [None, now]})
        return replace(key, revoked_at=now)

    def _note_use(self, key: ApiKey, now: datetime) -> None:
        due = now - LAST_USED_RESOLUTION
        if key.last_used_at is not None and key.last_used_at > due:
            return
        is_due = or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at <= due)
        note = api_keys.update().where(api_keys.c.id == key.id, is_due).values(last_used_at=now)
        # A request does not fail where its time cannot be stored.
        with suppress(CatalogBusyError), self._database.write() as connection:
            connection.execute(note)


def add_key(connection: Connection, account_id: str, new: NewKey, actor: str) -> tuple[ApiKey, str]:
    """Create a key in the caller's transaction; returns it and its token."""
    _require(connection, account_id, new)
    token = new_token(new.environment)
    values: dict[str, Any] = {
        "id": new_id("key"),
        "account_id": account_id,
        "member_id": new.member_id,
        "name": new.name.strip(),
        "environment": new.environment,
        "key_prefix": token.prefix,
        # In the table's order, each once.
        "scopes": [scope for scope in SCOPES if scope in new.scopes],
        "project_ids": list(dict.fromkeys(new.project_ids)),
        "last_used_at": None,
        "revoked_at": None,
        "created_at": utc_now(),
    }
    row = {**values, "token_id": token.token_id, "digest": token.digest}
    connection.execute(api_keys.insert().values(row))
    record(connection, account_id, actor, values["id"], changes_between({}, values))
    return _key_from(row), token.text


def _key_from(row: RowMapping | dict[str, Any]) -> ApiKey:
    facts = {name: row[name] for name in ApiKey.__dataclass_fields__}
    lists = {"scopes": tuple(row["scopes"]), "project_ids": tuple(row["project_ids"])}
    return ApiKey(**{**facts, **lists})


def _require(connection: Connection, account_id: str, new: NewKey) -> None:
    own = set(connection.scalars(select(projects.c.id).where(projects.c.account_id == account_id)))
    known = ", ".join(SCOPES)
    checks = (
        (bool(new.name.strip()), "name", "is empty; say what the key is for"),
        (bool(new.scopes), "scopes", f"is empty; give some of {known}"),
        (new.environment in ENVIRONMENTS, "environment", f"{new.environment!r} is neither live nor test"),
        *(
            (scope in SCOPES, f"scopes[{index}]", f"{scope!r} is not a scope; use some of {known}")
            for index, scope in enumerate(new.scopes)
        ),
        *(
            (project in own, f"project_ids[{index}]", f"there is no project {project!r} in this account")
            for index, project in enumerate(new.project_ids)
        ),
    )
    problems = [Problem(field, message) for holds, field, message in checks if not holds]
    if problems:
        raise InvalidRecordError(problems)
