"""Members of accounts, with their roles."""

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final, Literal, cast, get_args

from sqlalchemy import Connection, select

from engine.errors import Problem
from pipeline.clock import utc_now
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import (
    InvalidRecordError,
    LastOwnerError,
    NotFoundError,
    RoleTooLowError,
)
from pipeline.store.catalog.experiments import unassign_member
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import accounts, api_keys, members, share_links
from pipeline.store.catalog.sharing.link_endings import end_links

Role = Literal["owner", "admin", "member"]
# The highest first.
ROLES: Final[tuple[Role, ...]] = get_args(Role)
COMMAND_LINE: Final = "command line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of an account; `accepted_at` is None for one that is only invited."""

    id: str
    account_id: str
    name: str
    email_address: str
    role: Role
    accepted_at: datetime | None
    created_at: datetime

    @property
    def manages_keys(self) -> bool:
        """Whether the role may list, create and revoke API keys."""
        return self.role in {"owner", "admin"}

    @property
    def is_accepted_owner(self) -> bool:
        """Whether the member is an owner that has accepted."""
        return self.role == "owner" and self.accepted_at is not None


@dataclass(frozen=True, slots=True)
class NewMember:
    """Fields of a member to add, not yet validated."""

    email: str
    name: str
    role: str


class Members:
    """Repository of members.

    `by` is the member that asks for a change, and None for an operator: a member manages members as an
    owner or admin, none of a role above its own, and gives no such role.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(  # noqa: PLR0913 - each is a fact of the member or of who asks
        self,
        account_id: str,
        email: str,
        name: str,
        role: str = "member",
        *,
        actor: str = COMMAND_LINE,
        by: str | None = None,
    ) -> Member:
        """Add an accepted member.

        NotFoundError, RoleTooLowError, or InvalidRecordError naming every problem.
        """
        with self._database.write() as connection:
            highest = _highest_role(lock_members(connection, account_id), by)
            _require_at_most(highest, role)
            return add_member(connection, account_id, NewMember(email, name, role), actor)

    def get(self, account_id: str, member_id: str) -> Member:
        """Return a member of an account; NotFoundError."""
        query = select(members).where(members.c.account_id == account_id, members.c.id == member_id)
        with self._database.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise NotFoundError("member", member_id)
        return Member(**row)

    def accepted(self, account_id: str) -> list[Member]:
        """List the accepted members of an account, oldest first."""
        query = (
            select(members)
            .where(members.c.account_id == account_id, members.c.accepted_at.is_not(None))
            .order_by(members.c.created_at, members.c.id)
        )
        with self._database.read() as connection:
            return [Member(**row) for row in connection.execute(query).mappings()]

    def update(  # noqa: PLR0913 - each may be changed alone
        self,
        account_id: str,
        member_id: str,
        *,
        name: str | None = None,
        role: str | None = None,
        actor: str = COMMAND_LINE,
        by: str | None = None,
    ) -> Member:
        """Change the name, the role or both; the API keys stay, and what they may follows the role at once.

        A lower role ends the member's share links.

        NotFoundError; RoleTooLowError; InvalidRecordError; LastOwnerError where no owner would remain.
        """
        with self._database.write() as connection:
            everyone = lock_members(connection, account_id)
            before = managed_member(everyone, member_id, by)
            after = replace(
                before,
                name=before.name if name is None else name.strip(),
                role=before.role if role is None else cast("Role", role),
            )
            _require_valid(_field_problems(after.name, after.role))
            _require_at_most(_highest_role(everyone, by), after.role)
            if after.role != "owner":
                _require_another_owner(everyone, before)
            if after != before:
                is_this = members.c.id == member_id
                connection.execute(members.update().where(is_this).values(asdict(after)))
                changes = changes_between(asdict(before), asdict(after))
                record(connection, account_id, actor, member_id, changes)
            if is_above(before.role, after.role):
                _end_share_links(connection, after, actor)
        return after

    def remove(
        self, account_id: str, member_id: str, *, actor: str = COMMAND_LINE, by: str | None = None
    ) -> Member:
        """Remove a member, with immediate effect: its API keys and their sessions are deleted.

        Experiments that were assigned to the member no longer are. Returns the member as it was.
        NotFoundError; RoleTooLowError; LastOwnerError for the only accepted owner.
        """
        with self._database.write() as connection:
            everyone = lock_members(connection, account_id)
            removed = managed_member(everyone, member_id, by)
            _require_another_owner(everyone, removed)
            unassign_member(connection, account_id, member_id, actor)
            _end_share_links(connection, removed, actor)
            held = select(api_keys.c.id).where(api_keys.c.member_id == member_id)
            # Deleting the member deletes its keys.
            for key_id in connection.scalars(held).all():
                record(connection, account_id, actor, key_id, {"id": [key_id, None]})
            record(connection, account_id, actor, member_id, changes_between(asdict(removed), {}))
            connection.execute(members.delete().where(members.c.id == member_id))
        return removed


def add_member(connection: Connection, account_id: str, new: NewMember, actor: str) -> Member:
    """Add an accepted member in the caller's transaction."""
    address = new.email.strip().lower()
    _require(connection, account_id, address, new)
    now = utc_now()
    member = Member(
        id=new_id("mem"),
        account_id=account_id,
        name=new.name.strip(),
        email_address=address,
        role=cast("Role", new.role),
        accepted_at=now,
        created_at=now,
    )
    connection.execute(members.insert().values(asdict(member)))
    record(connection, account_id, actor, member.id, changes_between({}, asdict(member)))
    return member


def is_address(address: str) -> bool:
    """Return whether a text has the form of an e-mail address."""
    local, at, domain = address.strip().partition("@")
    return bool(local and at and domain) and "@" not in domain and not any(map(str.isspace, local + domain))


def is_above(role: str, other: str) -> bool:
    """Return whether a role is higher than another: owners are above admins, and admins above members."""
    return ROLES.index(cast("Role", role)) < ROLES.index(cast("Role", other))


def lock_members(connection: Connection, account_id: str) -> list[Member]:
    """Return the members of an account, which cannot change until the commit; NotFoundError."""
    # Of two owners, only one can be removed at once.
    account = select(accounts.c.id).where(accounts.c.id == account_id).with_for_update()
    if connection.scalar(account) is None:
        raise NotFoundError("account", account_id)
    of_account = select(members).where(members.c.account_id == account_id)
    return [Member(**row) for row in connection.execute(of_account).mappings()]


def managed_member(everyone: list[Member], member_id: str, by: str | None) -> Member:
    """Return a member that `by`, None for an operator, may manage; NotFoundError, RoleTooLowError."""
    highest = _highest_role(everyone, by)
    member = next((one for one in everyone if one.id == member_id), None)
    if member is None:
        raise NotFoundError("member", member_id)
    if is_above(member.role, highest):
        raise RoleTooLowError(f"{member.name} is an {member.role}, a role above yours; ask an {member.role}")
    return member


def _end_share_links(connection: Connection, maker: Member, actor: str) -> None:
    held = select(api_keys.c.id).where(api_keys.c.member_id == maker.id)
    made = share_links.c.key_id.in_(held)
    end_links(connection, made, account_id=maker.account_id, actor=actor, now=utc_now())


def _require(connection: Connection, account_id: str, address: str, new: NewMember) -> None:
    same = select(members.c.id).where(members.c.account_id == account_id, members.c.email_address == address)
    problems = _field_problems(new.name, new.role)
    if not is_address(address):
        problems.append(Problem("email_address", f"{address!r} is not an e-mail address"))
    if connection.scalar(same) is not None:
        problems.append(Problem("email_address", f"{address!r} is a member of this account already"))
    _require_valid(problems)


def _field_problems(name: str, role: str) -> list[Problem]:
    checks = (
        (bool(name.strip()), "name", "is empty; give a name to show"),
        (role in ROLES, "role", f"{role!r} is not a role; use one of {', '.join(ROLES)}"),
    )
    return [Problem(field, message) for holds, field, message in checks if not holds]


def _require_valid(problems: list[Problem]) -> None:
    if problems:
        raise InvalidRecordError(problems)


def _highest_role(everyone: list[Member], by: str | None) -> Role:
    """Return the highest role that a member may give; of an operator, every role."""
    if by is None:
        return ROLES[0]
    manager = next((one for one in everyone if one.id == by), None)
    if manager is None or not manager.manages_keys:
        raise RoleTooLowError("members and their keys are managed by owners and admins")
    return manager.role


def _require_at_most(highest: Role, role: str) -> None:
    if role in ROLES and is_above(role, highest):
        raise InvalidRecordError([Problem("role", f"{role} is above your own role; give at most {highest}")])


def _require_another_owner(everyone: list[Member], member: Member) -> None:
    if not any(one.is_accepted_owner for one in everyone if one.id != member.id):
        raise LastOwnerError(member.email_address)
