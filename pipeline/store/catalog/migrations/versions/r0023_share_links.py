"""Share links of experiments."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of links."""
    op.create_table(
        "share_links",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("project_id", sa.String(40), nullable=False),
        sa.Column("experiment_id", sa.String(40), nullable=False),
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("shows_money", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_share_links"),
        sa.UniqueConstraint("digest", name="uq_share_links_digest"),
        *(
            sa.ForeignKeyConstraint(
                [column], [f"{table}.id"], name=f"fk_share_links_{column}", ondelete="CASCADE"
            )
            for column, table in (
                ("project_id", "projects"),
                ("experiment_id", "experiments"),
                ("key_id", "api_keys"),
            )
        ),
    )
    for column in ("project_id", "experiment_id", "key_id"):
        op.create_index(f"ix_share_links_{column}", "share_links", [column])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("share_links")
