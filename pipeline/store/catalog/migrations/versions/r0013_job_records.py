"""Records of the jobs that projects owe."""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

ID = sa.String(40)


def upgrade() -> None:
    """Make the table; a project of an earlier version owes no night before the present one."""
    op.create_table(
        "job_records",
        sa.Column("job", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("period", sa.String, nullable=True),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("tried_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("job", "project_id", name="pk_job_records"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_job_records_project_id", ondelete="CASCADE"
        ),
    )
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    fill = sa.text(
        "INSERT INTO job_records (job, project_id, period, tries) "
        "SELECT 'rebuild_after_midnight', id, :yesterday, 0 FROM projects"
    )
    op.get_bind().execute(fill, {"yesterday": yesterday})


def downgrade() -> None:
    """Remove it."""
    op.drop_table("job_records")
