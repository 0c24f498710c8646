"""Sums of the warehouse by name: no table of the catalog changes, but earlier versions refuse the store."""

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing: the warehouse is brought into its new form when its results are opened."""


def downgrade() -> None:
    """Change nothing: for an earlier version the warehouse comes from a backup."""
