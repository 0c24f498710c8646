"""Runs: rollups, rebuilds, snapshots and imports of projects."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of runs."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("trigger", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("run_key", sa.String),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("events", sa.BigInteger),
        sa.Column("visitors", sa.BigInteger),
        sa.Column("drift", sa.JSON, nullable=False),
        sa.Column("error", sa.String),
        sa.Column("progress", sa.JSON, nullable=False),
        sa.Column("result", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_runs_project_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("project_id", "run_key", name="uq_runs_project_id_run_key"),
    )
    op.create_index("ix_runs_project_id_created_at", "runs", ["project_id", "created_at"])
    op.create_index("ix_runs_status", "runs", ["status"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("runs")
