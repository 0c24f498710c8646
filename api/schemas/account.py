"""Answers about an account, its members and its usage."""

from pydantic import BaseModel, Field

from pipeline.store.catalog import accounts, members
from pipeline.store.catalog.members import Role
from pipeline.store.catalog.plans import PlanKey, SubscriptionStatus

RATE_LIMIT = "Requests per minute of all keys of the account together."


class Account(BaseModel):
    """An account."""

    id: str
    name: str
    slug: str
    plan: PlanKey
    plan_name: str
    subscription_status: SubscriptionStatus
    rate_limit_per_minute: int = Field(description=RATE_LIMIT)

    @classmethod
    def of(cls, found: accounts.Account) -> "Account":
        """Describe an account."""
        return cls(
            id=found.id,
            name=found.name,
            slug=found.slug,
            plan=found.plan,
            plan_name=found.plan_name,
            subscription_status=found.subscription_status,
            rate_limit_per_minute=found.rate_limit_per_minute,
        )


class Member(BaseModel):
    """An account member who has accepted the invitation."""

    id: str = Field(description="Id for `assigned_user_ids` of an experiment.")
    name: str
    email_address: str
    role: Role

    @classmethod
    def of(cls, found: members.Member) -> "Member":
        """Describe a member."""
        return cls(id=found.id, name=found.name, email_address=found.email_address, role=found.role)


class Usage(BaseModel):
    """Limits of the plan and their usage."""

    plan: PlanKey
    plan_name: str
    projects_count: int
    projects_remaining: int = Field(description="Projects that can still be created.")
    max_projects: int
    rate_limit_per_minute: int = Field(description=RATE_LIMIT)

    @classmethod
    def of(cls, account: accounts.Account, projects: int) -> "Usage":
        """Describe the usage of an account with so many projects."""
        return cls(
            plan=account.plan,
            plan_name=account.plan_name,
            projects_count=projects,
            # A smaller plan or override may allow fewer than there are.
            projects_remaining=max(0, account.max_projects - projects),
            max_projects=account.max_projects,
            rate_limit_per_minute=account.rate_limit_per_minute,
        )
