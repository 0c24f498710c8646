"""Recorded looks at experiments."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.String(40)


def upgrade() -> None:
    """Make the table of recorded looks."""
    op.create_table(
        "recorded_looks",
        sa.Column("id", ID, nullable=False),
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_at_plan", sa.Boolean, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_recorded_looks"),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiments.id"], name="fk_recorded_looks_experiment_id", ondelete="CASCADE"
        ),
    )
    op.create_index(
        "ix_recorded_looks_experiment_id_taken_at", "recorded_looks", ["experiment_id", "taken_at"]
    )
    op.create_index(
        "uq_recorded_looks_at_plan",
        "recorded_looks",
        ["experiment_id"],
        unique=True,
        sqlite_where=sa.text("is_at_plan"),
        postgresql_where=sa.text("is_at_plan"),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("recorded_looks")
