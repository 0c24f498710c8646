"""Warehouses for one part of the events, removed at the end."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.incremental import identity_links

# A part has a warehouse of its own, so any id does.
PROJECT: Final = "part"
LINKS: Final = pl.Schema(
    {
        "visitor_key": pl.UInt64,
        "user_key": pl.UInt64,
        "is_trusted": pl.Boolean,
        "is_same_id": pl.Boolean,
        "seq": pl.Int64,
        "received_at": pl.Int64,
    }
)
# Columns without nulls that no step but the count reads.
_UNREAD: Final = {
    "occurred_at": pl.lit(0, pl.Int64),
    "event_id": pl.lit(""),
    "event_key": pl.lit(0, pl.UInt64),
    "type": pl.lit(""),
    "is_refund": pl.lit(value=False),
    "is_bot": pl.lit(value=False),
}


@contextmanager
def scratch_warehouse(
    rows: pl.DataFrame | None = None, links: pl.DataFrame | None = None
) -> Iterator[Warehouse]:
    """Open a warehouse in a temporary folder, with these events of PROJECT; missing columns are null.

    One thread works on it, since the engine runs parts beside each other. It has the `links`, or none.
    """
    with tempfile.TemporaryDirectory(prefix="truelift-rollup-") as folder:
        settings = Settings(data_dir=Path(folder), duckdb_threads=1, min_free_disk_bytes=0)
        warehouse = Warehouse.open(settings)
        try:
            with warehouse.transaction() as cursor:
                identity_links.replace(cursor, PROJECT, LINKS.to_frame() if links is None else links)
                if rows is not None:
                    events.create_table(cursor, PROJECT)
                    missing = [value.alias(name) for name, value in _UNREAD.items() if name not in rows]
                    events.append(cursor, PROJECT, rows.with_columns(missing))
            yield warehouse
        finally:
            warehouse.close(with_checkpoint=False)
