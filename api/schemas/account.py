"""Answers about an account, its members, its usage and its audit trail."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from api.schemas.experiments import ExperimentDetail
from api.schemas.metrics import Metric
from api.schemas.projects import Project
from api.schemas.query_times import QueryTime
from pipeline.store.catalog import accounts, audit, members
from pipeline.store.catalog.audit import BESIDE_CHANGES, Action, AuditFilter
from pipeline.store.catalog.members import Role
from pipeline.store.catalog.plans import PlanKey, SubscriptionStatus

# Of every subject.
_ALWAYS: Final = frozenset({*BESIDE_CHANGES, "reason", "way"})
RATE_LIMIT = "Requests per minute of all keys of the account together."
ROLE: Final = "Owners and admins manage members and API keys; nobody gives a role above their own."
# The entry itself says when.
_NOISE: Final = frozenset({"id", "created_at", "updated_at"})
_MEMBER: Final = frozenset({"name", "email_address", "role", "accepted_at"})
_ACCOUNT: Final = frozenset(
    {"name", "slug", "plan", "subscription_status", "max_projects_override", "rate_limit_override"}
)
_SHARE_LINK: Final = frozenset(
    {"project_id", "experiment_id", "key_id", "shows_money", "expires_at", "revoked_at"}
)
_KEY: Final = frozenset({"name", "environment", "scopes", "project_ids", "member_id", "revoked_at"})
# By the beginning of an id: what it is of, and the fields whose values are shown. What is not listed is not
# shown, so that a new column with a secret stays one.
SUBJECTS: Final[Mapping[str, tuple[str, frozenset[str]]]] = {
    "acc": ("account", _ACCOUNT),
    "mem": ("member", _MEMBER),
    "key": ("api_key", _KEY),
    "prj": ("project", frozenset(Project.model_fields) - _NOISE),
    "exp": ("experiment", frozenset(ExperimentDetail.model_fields) - _NOISE),
    "grp": ("group", frozenset({"name"})),
    "hld": ("holdout", frozenset({*ExperimentDetail.model_fields, "held_group_id"}) - _NOISE),
    "met": ("metric", frozenset(Metric.model_fields) - _NOISE),
    "whk": ("webhook", frozenset({"url", "description", "events", "disabled_reason", "secret"})),
    "chn": (
        "notification_channel",
        frozenset(
            {"kind", "destination", "description", "events", "digest_hour", "disabled_reason", "secret"}
        ),
    ),
    "run": ("run", frozenset({"project_id", "kind"})),
    "shr": ("share_link", _SHARE_LINK),
    # A sign-in to the dashboard.
    "ses": ("session", frozenset({"key_id"})),
    "ers": ("erasure", frozenset({"project_id", "visitor_ids", "user_ids", "events"})),
}


SubjectType = Literal[
    "account",
    "member",
    "api_key",
    "project",
    "experiment",
    "holdout",
    "group",
    "metric",
    "webhook",
    "notification_channel",
    "run",
    "share_link",
    "session",
    "erasure",
]
_PREFIXES: Final[Mapping[str, str]] = {name: prefix for prefix, (name, _) in SUBJECTS.items()}


class Account(BaseModel):
    """An account."""

    id: str = Field(examples=["acc_w6kq3vxm2c7tzhn5d4rp"])
    name: str = Field(examples=["My shop"])
    slug: str = Field(description="Name in lower case, for addresses.", examples=["my-shop"])
    plan: PlanKey = Field(description="Plan of the account.")
    plan_name: str
    subscription_status: SubscriptionStatus = Field(
        description="State of the subscription: with an ended one requests are answered with 402."
    )
    rate_limit_per_minute: int = Field(description=RATE_LIMIT, examples=[100])

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

    id: str = Field(
        description="Id for `assigned_user_ids` of an experiment.", examples=["mem_c5hn2qk7vxm3tz6d4wpr"]
    )
    name: str = Field(examples=["Mia Lang"])
    email_address: str = Field(description="Address of the member.", examples=["mia@shop.example"])
    role: Role = Field(description="`owner`, `admin` or `member`; owners and admins manage API keys.")

    @classmethod
    def of(cls, found: members.Member) -> "Member":
        """Describe a member."""
        return cls(id=found.id, name=found.name, email_address=found.email_address, role=found.role)


class MemberInput(BaseModel):
    """A member to add."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"email_address": "mia@shop.example", "name": "Mia Lang"}]},
    )
    email_address: str = Field(
        max_length=254,
        description="Address; each is a member of an account once.",
        examples=["mia@shop.example"],
    )
    name: str = Field(max_length=255, description="Name to show.", examples=["Mia Lang"])
    role: Role = Field("member", description=ROLE)


class MemberChanges(BaseModel):
    """The fields to change; one that is absent stays as it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "admin"}]})
    name: str | None = Field(None, max_length=255, description="Name to show.", examples=["Mia Lang"])
    role: Role | None = Field(None, description=ROLE)


class Usage(BaseModel):
    """Limits of the plan and their usage."""

    plan: PlanKey = Field(description="Plan of the account.")
    plan_name: str
    projects_count: int = Field(description="Projects of the account.", examples=[1])
    projects_remaining: int = Field(description="Projects that can still be created.", examples=[2])
    max_projects: int = Field(description="Projects that the account may have.", examples=[3])
    rate_limit_per_minute: int = Field(description=RATE_LIMIT, examples=[100])

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


class AuditQuery(BaseModel):
    """What entries are found by, and the page of them."""

    model_config = ConfigDict(extra="ignore")

    subject_id: Annotated[str | None, Field(description="Id of what was written.", max_length=64)] = None
    subject_type: Annotated[SubjectType | None, Field(description="Kind of what was written.")] = None
    action: Annotated[Action | None, Field(description="What was done.")] = None
    actor: Annotated[str | None, Field(description="`actor` of the entries.", max_length=64)] = None
    project_id: Annotated[
        str | None, Field(description="Only a project, and what it has or had.", max_length=64)
    ] = None
    since: Annotated[QueryTime | None, Field(description="From this time on.")] = None
    until: Annotated[QueryTime | None, Field(description="Before this time.")] = None
    page: Annotated[int, Field(ge=1, description="Number of the page, from 1.")] = 1

    @property
    def wanted(self) -> AuditFilter:
        """What the list is to have."""
        return AuditFilter(
            subject_id=self.subject_id,
            prefix=_PREFIXES[self.subject_type] if self.subject_type else None,
            actor=self.actor,
            action=self.action,
            project_id=self.project_id,
            since=self.since,
            until=self.until,
        )


class AuditEntry(BaseModel):
    """A write: who changed which fields of what."""

    id: str = Field(examples=["aud_t3chn6zd4wrp2v7xk5qm"])
    at: datetime = Field(description="Time of the write, in UTC.")
    actor: str = Field(
        description="Id of the API key, or what acted without one, such as the command line.",
        examples=["key_p2v7xk5qmt3chn6zd4wr"],
    )
    actor_name: str | None = Field(
        description="Name of the API key; null where no key of the account acted.",
        examples=["Nightly import"],
    )
    action: Action = Field(
        description="`exported` tells of visitors of an experiment, `backed_up` of an account, `tested` of a "
        "webhook or channel, `refused` of a key that was wrong or revoked; the field of that name says more."
    )
    subject_type: str = Field(
        description="`account`, `member`, `api_key`, `project`, `experiment` …", examples=["experiment"]
    )
    subject_id: str = Field(description="Id of what was written.", examples=["exp_k3vq7xm2c5tzhn6d4wrp"])
    changes: dict[str, tuple[Any, Any]] = Field(
        description="By field: its value before and after; null where there was or is none. Secrets, and "
        "fields that the API does not show, are left out.",
        examples=[{"name": ["Checkout", "One-page checkout"]}],
    )

    @classmethod
    def of(cls, entry: audit.AuditEntry, names: Mapping[str, str]) -> "AuditEntry":
        """Describe an entry; `names` are those of the account's keys, by id."""
        prefix = entry.subject_id.partition("_")[0]
        subject_type, shown = SUBJECTS.get(prefix, (prefix, frozenset()))
        return cls(
            id=entry.id,
            at=entry.at,
            actor=entry.actor,
            actor_name=names.get(entry.actor),
            action=_action(entry),
            subject_type=subject_type,
            subject_id=entry.subject_id,
            changes={
                field: (before, after)
                for field, (before, after) in entry.changes.items()
                if field in shown | _ALWAYS
            },
        )


def _action(entry: audit.AuditEntry) -> Action:
    """Tell by the id, which every object has from its creation to its deletion, or by a field of the name."""
    for action in BESIDE_CHANGES:
        if action in entry.changes:
            return action
    before, after = entry.changes.get("id", (entry.subject_id, entry.subject_id))
    if before is None:
        return "created"
    return "deleted" if after is None else "changed"
