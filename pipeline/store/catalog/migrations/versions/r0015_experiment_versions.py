"""Versions of experiments: which have changed since a cache read them."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the version of each experiment, and the newest one of its project."""
    op.add_column(
        "experiments", sa.Column("version", sa.BigInteger, nullable=False, server_default=sa.text("0"))
    )
    op.create_index("ix_experiments_project_id_version", "experiments", ["project_id", "version"])
    op.add_column(
        "projects",
        sa.Column("experiments_version", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    )


def downgrade() -> None:
    """Remove them."""
    op.drop_column("projects", "experiments_version")
    op.drop_index("ix_experiments_project_id_version", "experiments")
    op.drop_column("experiments", "version")
