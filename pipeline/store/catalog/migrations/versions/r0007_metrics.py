"""Metrics of projects."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of metrics."""
    op.create_table(
        "metrics",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_metrics"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_metrics_project_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("project_id", "name", name="uq_metrics_project_id_name"),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("metrics")
