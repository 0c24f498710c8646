"""Payloads of variants: their bytes, by experiment."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no variant of an earlier version has a payload."""
    op.add_column("experiments", sa.Column("payload_bytes", sa.Integer, nullable=True))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("experiments", "payload_bytes")
