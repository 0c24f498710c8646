"""Links that sign in once."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of links."""
    op.create_table(
        "sign_in_links",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("token", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_sign_in_links"),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("sign_in_links")
