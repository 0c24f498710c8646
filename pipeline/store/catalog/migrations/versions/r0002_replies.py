"""Answers to requests that may be sent again."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.String(40)


def upgrade() -> None:
    """Make the table of replies."""
    op.create_table(
        "replies",
        sa.Column("account_id", ID, nullable=False),
        sa.Column("key_digest", sa.String(64), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("claim_id", ID, nullable=False),
        sa.Column("sealed", sa.LargeBinary),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "key_digest", name="pk_replies"),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_replies_account_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_replies_expires_at", "replies", ["expires_at"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("replies")
