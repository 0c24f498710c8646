"""Holdouts: experiments that are no tests, which lists and counts of tests leave out."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column(
        "experiments", sa.Column("is_holdout", sa.Boolean, nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    """Remove it, and the holdouts, which an earlier version would take for tests."""
    op.execute("DELETE FROM experiments WHERE is_holdout")
    op.drop_column("experiments", "is_holdout")
