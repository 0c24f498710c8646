"""Lists of experiments: what they are found and sorted by, and the verdicts that lists show."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None

ID = sa.String(40)
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables, and describe the experiments there are; the next count keeps their verdicts."""
    listings = op.create_table(
        "experiment_listings",
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("words", sa.String, nullable=False),
        sa.Column("tags", sa.String, nullable=False),
        sa.Column("owner", ID, nullable=True),
        sa.Column("started_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("experiment_id", name="pk_experiment_listings"),
        _of("experiment_listings", "experiment_id", "experiments"),
        _of("experiment_listings", "project_id", "projects"),
    )
    for column in ("status", "owner"):
        name = f"ix_experiment_listings_project_id_{column}"
        op.create_index(name, "experiment_listings", ["project_id", column])
    op.create_table(
        "kept_verdicts",
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("verdict", sa.String, nullable=False),
        sa.Column("improvement", sa.Float, nullable=True),
        sa.Column("visitors", sa.BigInteger, nullable=False),
        sa.Column("progress", sa.Float, nullable=True),
        sa.Column("since", TIME, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("experiment_id", name="pk_kept_verdicts"),
        _of("kept_verdicts", "experiment_id", "experiments"),
    )
    rows = list(_listings(op.get_bind()))
    if rows:
        op.bulk_insert(listings, rows)


def downgrade() -> None:
    """Remove them."""
    op.drop_table("kept_verdicts")
    op.drop_table("experiment_listings")


def _of(table: str, column: str, owner: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def _listings(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    """Describe each experiment by its document, as it was written until now: without tags."""
    query = sa.text("SELECT id, project_id, status, document FROM experiments")
    for experiment_id, project_id, status, stored in connection.execute(query):
        document = json.loads(stored) if isinstance(stored, str) else stored
        goals = [goal["name"] for goal in document.get("goals", ())]
        started = document.get("started_at")
        yield {
            "experiment_id": experiment_id,
            "project_id": project_id,
            "status": status,
            "name": document["name"],
            "words": "\n".join((document["name"], document["test_key"], *goals)).casefold(),
            "tags": "\n",
            "owner": next(iter(document.get("assigned_user_ids", ())), None),
            "started_at": datetime.fromisoformat(started) if started else None,
        }
