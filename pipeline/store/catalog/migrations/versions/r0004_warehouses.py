"""The catalog's warehouse and its owner."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.String(40)


def upgrade() -> None:
    """Make the table of the warehouse, and note the warehouse of each project."""
    op.create_table(
        "warehouses",
        sa.Column("id", ID, nullable=False),
        sa.Column("folder", sa.String, nullable=False),
        sa.Column("is_confirmed", sa.Boolean, nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_warehouses"),
    )
    op.add_column("projects", sa.Column("warehouse_id", ID))


def downgrade() -> None:
    """Remove both."""
    op.drop_column("projects", "warehouse_id")
    op.drop_table("warehouses")
