"""Event files: every event once, as hourly Parquet files in a folder or a bucket."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Self

from pipeline.disk_space import disk_full_errors
from pipeline.settings import Settings
from pipeline.snapshots.files import placed
from pipeline.store.spool.loaded_events import read_loaded_seq
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.event_ranges import newest_seq
from pipeline.store.warehouse.parquet import EVENTS_A_FILE, EventRange, write_events

if TYPE_CHECKING:
    # It takes half a second to load.
    from pyarrow.fs import FileSystem

_S3: Final = "s3://"
_NAME: Final = re.compile(r"/dt=(\d{4}-\d\d-\d\d)/(\d{15})-(\d{15})\.parquet\Z")
EVENTS: Final = "events"
TOMBSTONES: Final = "tombstones"


class EventFilesError(Exception):
    """Event files that cannot be continued; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class EventFile:
    """A file with the events numbered up to `last`, written on a day in UTC."""

    path: str
    day: date
    last: int


@dataclass(frozen=True, slots=True)
class EventFiles:
    """Files of a project's events at a location; the names of the files say which events they have."""

    system: "FileSystem"
    folder: str
    is_local: bool

    @classmethod
    def of(cls, settings: Settings, project_id: str) -> Self | None:
        """Return the files that the settings ask for; None where they ask for none."""
        location = settings.event_files
        if location is None:
            return None
        if location.startswith(_S3):
            from pipeline.sources.object_store import file_system  # noqa: PLC0415 - slow, and most have none

            return cls(
                file_system(), f"{location.removeprefix(_S3).rstrip('/')}/{project_id}", is_local=False
            )
        from pyarrow.fs import LocalFileSystem  # noqa: PLC0415 - slow, and most have none

        return cls(LocalFileSystem(), str(Path(location).resolve() / project_id), is_local=True)

    def list(self) -> list[EventFile]:
        """List the files, in the order of their events."""
        from pyarrow.fs import FileSelector  # noqa: PLC0415 - slow, and most have none

        selector = FileSelector(f"{self.folder}/{EVENTS}", recursive=True, allow_not_found=True)
        found = ((info.path, _NAME.search(info.path)) for info in self.system.get_file_info(selector))
        files = (EventFile(path, date.fromisoformat(name[1]), int(name[3])) for path, name in found if name)
        return sorted(files, key=lambda one: one.last)

    def write_new(self, warehouse: Warehouse, project_id: str, *, now: datetime) -> int:
        """Write the events after those of the last file, and return their number; EventFilesError.

        A file is there whole or not at all, and its name is its position: after a kill the next run goes on
        behind the last one, so that every event is in one file.
        """
        newest, files = newest_seq(warehouse, project_id) or 0, self.list()
        position = files[-1].last if files else 0
        with warehouse.cursor() as cursor:
            # Of all projects; the newest event of this one may be erased.
            loaded = read_loaded_seq(cursor) or 0
        if position > loaded:
            raise EventFilesError(
                f"{self.folder} has events up to number {position:,}, and this store only up to {loaded:,}: "
                "it is another store, or was restored; name another place for its event files"
            )
        written = 0
        for first in range(position + 1, newest + 1, EVENTS_A_FILE):
            last = min(first + EVENTS_A_FILE - 1, newest)
            name = f"{EVENTS}/dt={now.date().isoformat()}/{first:015d}-{last:015d}.parquet"
            with disk_full_errors(), _drafts(warehouse) as folder:
                draft = Path(folder) / "events.parquet"
                with warehouse.transaction() as cursor:
                    rows = write_events(cursor, project_id, EventRange(first, last, 0, 0), draft)
                if rows:
                    self._place(name, draft.read_bytes())
            written += rows
        return written

    def remove_old(self, *, before: date) -> None:
        """Remove files of days before one, but for the last, which tells how far events are written."""
        for file in self.list()[:-1]:
            if file.day < before:
                self.system.delete_file(file.path)

    def add_tombstone(self, name: str, content: Mapping[str, Any]) -> None:
        """Write beside the files which rows are to be deleted from them, and from what was made of them."""
        self._place(f"{TOMBSTONES}/{name}.json", json.dumps(content, indent=2).encode())

    def _place(self, name: str, content: bytes) -> None:
        path = f"{self.folder}/{name}"
        if self.is_local:
            with placed(Path(path)) as draft:
                draft.write_bytes(content)
            return
        # An object is there once its stream is closed, and not after an error before.
        stream = self.system.open_output_stream(path)
        stream.write(content)
        stream.close()


def _drafts(warehouse: Warehouse) -> TemporaryDirectory[str]:
    """Make a folder for a file under way, beside exports: a start removes what a kill has left there."""
    folder = warehouse.path.parent / "exports"
    folder.mkdir(exist_ok=True)
    return TemporaryDirectory(dir=folder)


def write_due(warehouse: Warehouse, settings: Settings, project_id: str, *, now: datetime) -> int:
    """Write the new events of a project, and remove files beyond their retention; EventFilesError."""
    files = EventFiles.of(settings, project_id)
    if files is None:
        return 0
    written = files.write_new(warehouse, project_id, now=now)
    if settings.event_files_days:
        files.remove_old(before=now.date() - timedelta(days=settings.event_files_days))
    return written
