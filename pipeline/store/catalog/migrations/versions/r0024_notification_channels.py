"""Notification channels: kinds of webhooks, hours of digests, addresses reached, and states announced."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column(
        "webhooks", sa.Column("kind", sa.String, nullable=False, server_default=sa.text("'webhook'"))
    )
    op.add_column("webhooks", sa.Column("digest_hour", sa.Integer, nullable=True))
    op.add_column("webhook_deliveries", sa.Column("reached", sa.LargeBinary, nullable=True))
    op.add_column("announced_results", sa.Column("states", sa.JSON, nullable=True))


def downgrade() -> None:
    """Remove them, and the channels, which an earlier version would take for webhooks."""
    op.execute("DELETE FROM webhooks WHERE kind <> 'webhook'")
    op.drop_column("announced_results", "states")
    op.drop_column("webhook_deliveries", "reached")
    op.drop_column("webhooks", "digest_hour")
    op.drop_column("webhooks", "kind")
