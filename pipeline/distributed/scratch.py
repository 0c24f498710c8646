"""Databases in memory for one part of the events."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.connections.in_memory import in_memory
from pipeline.store.warehouse.event_reader import EventReader
from pipeline.store.warehouse.incremental import identity_links

# A part has a database of its own, so any id does.
PROJECT: Final = "part"
# No event has a higher number.
LAST_SEQ: Final = 2**62
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


@dataclass(frozen=True, slots=True)
class Scratch:
    """Database of a part, with a `folder` for what exceeds the memory."""

    cursor: Cursor
    folder: Path

    @classmethod
    @contextmanager
    def open(cls, rows: pl.DataFrame | None = None, links: pl.DataFrame | None = None) -> Iterator["Scratch"]:
        """Open a database with these events of PROJECT, in the columns of `rows` alone, and `links`, or none.

        One thread works on it, since the engine runs parts beside each other.
        """
        with (
            tempfile.TemporaryDirectory(prefix="truelift-rollup-") as folder,
            in_memory(Path(folder)) as cursor,
        ):
            identity_links.replace(cursor, PROJECT, LINKS.to_frame() if links is None else links)
            if rows is not None:
                events.name_rows(cursor, PROJECT, rows)
            yield cls(cursor, Path(folder))

    def reader(self, *, received_until: int, skip_bots: bool = False) -> EventReader:
        """Read the events."""
        return EventReader(
            self.cursor,
            PROJECT,
            folder=self.folder,
            until=LAST_SEQ,
            received_until=received_until,
            skip_bots=skip_bots,
        )
