"""Accounts: plan, limits and subscription."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Connection, RowMapping, select

from engine.design.drafting import slug_of
from engine.errors import Problem
from pipeline.clock import utc_now
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.backends import lock_until_commit
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import InvalidRecordError, NotFoundError
from pipeline.store.catalog.ids import free_name, new_id
from pipeline.store.catalog.keys import SCOPES, NewKey, add_key
from pipeline.store.catalog.members import COMMAND_LINE, Member, NewMember, add_member
from pipeline.store.catalog.plans import (
    PLANS,
    SERVED_STATUSES,
    SUBSCRIPTION_STATUSES,
    PlanKey,
    SubscriptionStatus,
)
from pipeline.store.catalog.schema import accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A customer's account; an override replaces the limit of the plan."""

    id: str
    name: str
    slug: str
    plan: PlanKey
    subscription_status: SubscriptionStatus
    max_projects_override: int | None
    rate_limit_override: int | None
    created_at: datetime

    @property
    def plan_name(self) -> str:
        """Display name of the plan."""
        return PLANS[self.plan].name

    @property
    def max_projects(self) -> int:
        """Largest number of projects."""
        if self.max_projects_override is not None:
            return self.max_projects_override
        return PLANS[self.plan].max_projects

    @property
    def rate_limit_per_minute(self) -> int:
        """Requests a minute of all its API keys together."""
        if self.rate_limit_override is not None:
            return self.rate_limit_override
        return PLANS[self.plan].rate_limit_per_minute

    @property
    def is_served(self) -> bool:
        """Whether the API keys work under its subscription status."""
        return self.subscription_status in SERVED_STATUSES


class Accounts:
    """Repository of accounts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self, name: str, email: str, plan: str = "starter", *, actor: str = COMMAND_LINE
    ) -> tuple[Account, Member, str]:
        """Create an account, its owner, and the owner's account-wide live key with every scope.

        Returns the key's token, which is not stored. InvalidRecordError names every problem.
        """
        _require(name=name, plan=plan)
        with self._database.write() as connection:
            # Otherwise two transactions could find the same slug free.
            lock_until_commit(connection, "slugs")
            taken = set(connection.scalars(select(accounts.c.slug)))
            account = Account(
                id=new_id("acc"),
                name=name.strip(),
                slug=free_name(slug_of(name, otherwise="account"), taken),
                plan=cast("PlanKey", plan),
                subscription_status="active",
                max_projects_override=None,
                rate_limit_override=None,
                created_at=utc_now(),
            )
            connection.execute(accounts.insert().values(asdict(account)))
            record(connection, account.id, actor, account.id, changes_between({}, asdict(account)))
            new_owner = NewMember(email, name=email.partition("@")[0], role="owner")
            owner = add_member(connection, account.id, new_owner, actor)
            _, token = add_key(connection, account.id, NewKey(owner.id, "First key", SCOPES), actor)
        return account, owner, token

    def get(self, account_id: str) -> Account:
        """Return an account; NotFoundError."""
        with self._database.read() as connection:
            return account_from(_row(connection, account_id))

    def all(self) -> list[Account]:
        """List every account, oldest first."""
        query = select(accounts).order_by(accounts.c.created_at, accounts.c.id)
        with self._database.read() as connection:
            return [account_from(row) for row in connection.execute(query).mappings()]

    def update(  # noqa: PLR0913 - each may be changed alone
        self,
        account_id: str,
        *,
        plan: str | None = None,
        subscription_status: str | None = None,
        max_projects: int | None = None,
        rate_limit: int | None = None,
        actor: str = COMMAND_LINE,
    ) -> Account:
        """Change the fields that are not None; NotFoundError, or InvalidRecordError."""
        _require(
            plan=plan,
            subscription_status=subscription_status,
            max_projects=max_projects,
            rate_limit=rate_limit,
        )
        given = {
            "plan": plan,
            "subscription_status": subscription_status,
            "max_projects_override": max_projects,
            "rate_limit_override": rate_limit,
        }
        with self._database.write() as connection:
            before = dict(_row(connection, account_id, lock=True))
            after = {**before, **{column: value for column, value in given.items() if value is not None}}
            connection.execute(accounts.update().where(accounts.c.id == account_id).values(after))
            record(connection, account_id, actor, account_id, changes_between(before, after))
        return account_from(after)


def account_from(row: Mapping[str, Any] | RowMapping) -> Account:
    """Build an account from a row of the table."""
    return Account(**row)


def _row(connection: Connection, account_id: str, *, lock: bool = False) -> RowMapping:
    query = select(accounts).where(accounts.c.id == account_id)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFoundError("account", account_id)
    return row


def _require(
    *,
    name: str | None = None,
    plan: str | None = None,
    subscription_status: str | None = None,
    max_projects: int | None = None,
    rate_limit: int | None = None,
) -> None:
    statuses = ", ".join(SUBSCRIPTION_STATUSES)
    checks = (
        (name is None or name.strip(), "name", "is empty; give a name to show"),
        (plan is None or plan in PLANS, "plan", f"{plan!r} is not a plan; use one of {', '.join(PLANS)}"),
        (
            subscription_status is None or subscription_status in SUBSCRIPTION_STATUSES,
            "subscription_status",
            f"{subscription_status!r} is not a status; use one of {statuses}",
        ),
        (max_projects is None or max_projects >= 0, "max_projects", f"{max_projects} is below 0"),
        (rate_limit is None or rate_limit >= 1, "rate_limit", f"{rate_limit} is below 1"),
    )
    problems = [Problem(field, message) for holds, field, message in checks if not holds]
    if problems:
        raise InvalidRecordError(problems)
