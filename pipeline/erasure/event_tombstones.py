"""Tombstones: what the readers of event files have to delete of an erased person."""

from typing import Final

from pipeline.erasure.holder import Erasing
from pipeline.snapshots.hourly_events import EventFiles

EVENT_FILES: Final = "event files"


def has_event_files(erasing: Erasing) -> bool:
    """Tell whether events of the project were written into files."""
    files = _files_of(erasing)
    return files is not None and bool(files.list())


def add_tombstone(erasing: Erasing) -> None:
    """Write beside the files which rows are the person's; again, it is the same tombstone."""
    files, erased = _files_of(erasing), erasing.erased
    written = [] if files is None else files.list()
    if files is None or not written:
        return
    files.add_tombstone(
        erased.receipt_id,
        {
            "delete": "rows with one of these keys, in files of events up to this number",
            # Nothing may be stored of one whose events are in older files.
            "seq": max(erased.until, written[-1].last),
            # JSON numbers of many programs have 53 bits.
            "visitor_key": [str(key) for key in erased.person.all_keys],
            "user_key": [str(key) for key in erased.person.all_keys],
        },
    )


def _files_of(erasing: Erasing) -> EventFiles | None:
    return EventFiles.of(erasing.services.settings, erasing.project.id)
