"""Public keys that were replaced."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of replaced public keys."""
    op.create_table(
        "previous_sdk_keys",
        sa.Column("sdk_key", sa.String, nullable=False),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("sdk_key", name="pk_previous_sdk_keys"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_previous_sdk_keys_project_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_previous_sdk_keys_project_id", "previous_sdk_keys", ["project_id"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("previous_sdk_keys")
