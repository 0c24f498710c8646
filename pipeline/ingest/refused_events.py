"""Acknowledged events that the warehouse refuses: kept in files of their own, for `truelift check`."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import polars as pl

from pipeline.disk_space import disk_full_errors
from pipeline.ingest.spooled_events import EventGroup
from pipeline.store.private_files import OWNERS_FILE, make_private_folder


def write_refused(folder: Path, groups: Iterable[EventGroup]) -> None:
    """Write groups of events as JSON, a file each; DiskFullError and OSError."""
    for group in groups:
        rows = group.rows.rows(named=True) if isinstance(group.rows, pl.DataFrame) else group.rows
        content = {
            "project_id": group.project_id,
            "first_seq": group.first_seq,
            "events": [row if isinstance(row, dict) else row._asdict() for row in rows],
        }
        with disk_full_errors():
            make_private_folder(folder)
            path = folder / f"{group.first_seq}.json"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNERS_FILE)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(content))
                file.flush()
                os.fsync(file.fileno())
