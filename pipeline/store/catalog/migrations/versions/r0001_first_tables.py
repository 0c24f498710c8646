"""Accounts, members, keys, projects, experiments and the audit trail."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.String(40)
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the first tables."""
    _people()
    _designs()
    _audit()


def downgrade() -> None:
    """Remove them all."""
    for table in ("audit", "experiments", "projects", "api_keys", "members", "accounts"):
        op.drop_table(table)


def _people() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("slug", sa.String, nullable=False),
        sa.Column("plan", sa.String, nullable=False),
        sa.Column("subscription_status", sa.String, nullable=False),
        sa.Column("max_projects_override", sa.Integer),
        sa.Column("rate_limit_override", sa.Integer),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sa.UniqueConstraint("slug", name="uq_accounts_slug"),
    )
    op.create_table(
        "members",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("email_address", sa.String, nullable=False),
        sa.Column("role", sa.String, nullable=False),
        sa.Column("accepted_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_members"),
        _belongs_to("accounts", "members", "account_id"),
        sa.UniqueConstraint("account_id", "email_address", name="uq_members_account_id_email_address"),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("member_id", ID, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("environment", sa.String, nullable=False),
        sa.Column("token_id", sa.String, nullable=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("key_prefix", sa.String, nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("project_ids", sa.JSON, nullable=False),
        sa.Column("last_used_at", TIME),
        sa.Column("revoked_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_api_keys"),
        _belongs_to("accounts", "api_keys", "account_id"),
        _belongs_to("members", "api_keys", "member_id"),
        sa.UniqueConstraint("token_id", name="uq_api_keys_token_id"),
    )
    op.create_index("ix_api_keys_account_id", "api_keys", ["account_id"])


def _designs() -> None:
    op.create_table(
        "projects",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("sdk_key", sa.String, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
        _belongs_to("accounts", "projects", "account_id"),
        sa.UniqueConstraint("sdk_key", name="uq_projects_sdk_key"),
    )
    op.create_index("ix_projects_account_id_updated_at", "projects", ["account_id", "updated_at"])
    op.create_table(
        "experiments",
        sa.Column("id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("test_key", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_experiments"),
        _belongs_to("projects", "experiments", "project_id"),
        sa.UniqueConstraint("project_id", "test_key", name="uq_experiments_project_id_test_key"),
    )
    op.create_index("ix_experiments_project_id_status", "experiments", ["project_id", "status"])
    op.create_index("ix_experiments_project_id_updated_at", "experiments", ["project_id", "updated_at"])


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", ID, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("actor", sa.String, nullable=False),
        sa.Column("subject_id", ID, nullable=False),
        sa.Column("changes", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_account_id_at", "audit", ["account_id", "at"])
    op.create_index("ix_audit_subject_id_at", "audit", ["subject_id", "at"])


def _belongs_to(owner: str, table: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=f"fk_{table}_{column}", ondelete="CASCADE")
