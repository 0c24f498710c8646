"""Members of accounts, with their roles."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, Literal, cast, get_args

from sqlalchemy import Connection, select

from engine.errors import Problem
from pipeline.clock import utc_now
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import InvalidRecordError, LastOwnerError, NotFoundError
from pipeline.store.catalog.ids import new_id
from pipeline.store.catalog.schema import accounts, api_keys, members

Role = Literal["owner", "admin", "member"]
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
    """Repository of members."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, account_id: str, email: str, name: str, role: str = "member", *, actor: str = COMMAND_LINE
    ) -> Member:
        """Add an accepted member; NotFoundError, or InvalidRecordError naming every problem."""
        # The account's row is locked, so that its addresses cannot change until the commit.
        owner = select(accounts.c.id).where(accounts.c.id == account_id).with_for_update()
        with self._database.write() as connection:
            if connection.scalar(owner) is None:
                raise NotFoundError("account", account_id)
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

    def remove(self, account_id: str, member_id: str, *, actor: str = COMMAND_LINE) -> Member:
        """Remove a member and delete its API keys, with immediate effect.

        Returns the member as it was. NotFoundError; LastOwnerError for the only accepted owner.
        """
        account = select(accounts.c.id).where(accounts.c.id == account_id).with_for_update()
        of_account = select(members).where(members.c.account_id == account_id)
        with self._database.write() as connection:
            # The account's row is locked, so that of two owners only one can be removed at once.
            connection.execute(account)
            everyone = [Member(**row) for row in connection.execute(of_account).mappings()]
            removed = next((one for one in everyone if one.id == member_id), None)
            if removed is None:
                raise NotFoundError("member", member_id)
            if not any(one.is_accepted_owner for one in everyone if one.id != member_id):
                raise LastOwnerError(removed.email_address)
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


def _require(connection: Connection, account_id: str, address: str, new: NewMember) -> None:
    same = select(members.c.id).where(members.c.account_id == account_id, members.c.email_address == address)
    checks = (
        (bool(new.name.strip()), "name", "is empty; give a name to show"),
        (_is_address(address), "email", f"{address!r} is not an e-mail address"),
        (new.role in ROLES, "role", f"{new.role!r} is not a role; use one of {', '.join(ROLES)}"),
        (connection.scalar(same) is None, "email", f"{address!r} is a member of this account already"),
    )
    problems = [Problem(field, message) for holds, field, message in checks if not holds]
    if problems:
        raise InvalidRecordError(problems)


def _is_address(address: str) -> bool:
    local, at, domain = address.partition("@")
    return bool(local and at and domain) and "@" not in domain and not any(map(str.isspace, address))
