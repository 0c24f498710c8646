"""Rollouts in lists: since when the shipped variant of each experiment is shown to everybody."""

import json
from datetime import datetime

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and fill it for the rollouts that last."""
    op.add_column(
        "experiment_listings", sa.Column("rolled_out_at", sa.DateTime(timezone=True), nullable=True)
    )
    op.create_index(
        "ix_experiment_listings_project_id_rolled_out_at",
        "experiment_listings",
        ["project_id", "rolled_out_at"],
    )
    connection = op.get_bind()
    # The id of a rollout begins so.
    query = sa.text(
        "SELECT id, document FROM experiments WHERE CAST(document AS TEXT) LIKE '%\"rol\\_%' ESCAPE '\\'"
    )
    listings = sa.table(
        "experiment_listings",
        sa.column("experiment_id"),
        sa.column("rolled_out_at", sa.DateTime(timezone=True)),
    )
    for experiment_id, stored in connection.execute(query).all():
        document = json.loads(stored) if isinstance(stored, str) else stored
        rollout = document.get("rollout")
        if rollout and rollout.get("ended_at") is None:
            at = datetime.fromisoformat(rollout["started_at"])
            is_this = listings.c.experiment_id == experiment_id
            connection.execute(listings.update().where(is_this).values(rolled_out_at=at))


def downgrade() -> None:
    """Remove it."""
    op.drop_index("ix_experiment_listings_project_id_rolled_out_at", "experiment_listings")
    op.drop_column("experiment_listings", "rolled_out_at")
