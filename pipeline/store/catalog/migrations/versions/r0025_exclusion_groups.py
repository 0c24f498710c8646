"""Exclusion groups of projects."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of groups."""
    op.create_table(
        "exclusion_groups",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_exclusion_groups"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_exclusion_groups_project_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("project_id", "name", name="uq_exclusion_groups_project_id_name"),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("exclusion_groups")
