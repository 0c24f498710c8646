"""Reviews in lists: which experiments wait for a second member's yes."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no earlier version has reviews."""
    op.add_column(
        "experiment_listings",
        sa.Column("waits_for_review", sa.Boolean, nullable=False, server_default=sa.false()),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_column("experiment_listings", "waits_for_review")
