"""Values of quantiles in the warehouse: the catalog stays, but earlier versions refuse the store."""

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing: the sums and orders of the warehouse get buckets when its results are opened."""


def downgrade() -> None:
    """Change nothing: for an earlier version the warehouse comes from a backup."""
