"""Holders in files of the data folder, and outside of it."""

import shutil
from collections.abc import Collection, Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

import msgspec

from pipeline.assignment.index_files import IndexFiles
from pipeline.erasure.blanking import Blanking
from pipeline.erasure.event_tombstones import EVENT_FILES
from pipeline.erasure.holder import Erasing, Holder, Text, columns
from pipeline.erasure.snapshot_rows import count_left, write_again
from pipeline.ingest.refused_events import count_refused, erase_refused
from pipeline.runs.command_imports import outcome_files
from pipeline.settings import Settings
from pipeline.store.warehouse.incremental import event_keys
from pipeline.upgrade_backup import FOLDER as BEFORE_UPGRADE


def _leave_spool(erasing: Erasing) -> None:
    erasing.services.ingest.remove_loaded_files()


def _erase_refused(erasing: Erasing) -> None:
    settings = erasing.services.settings
    erase_refused(settings.refused_events_path, erasing.project.id, erasing.erased.person)


def _forget_assignments(erasing: Erasing) -> None:
    if not erasing.erased.is_stored and not _assignments_left(erasing):
        return
    # Made anew from the events, unless a listener writes them without the person.
    IndexFiles(erasing.services.settings.assignments_path, "").remove(erasing.project.id)
    erasing.services.ingest.tell_erasure(erasing.project.id, erasing.erased.person)


def _forget_keys(erasing: Erasing) -> None:
    if erasing.erased.is_stored or _keys_left(erasing):
        erasing.services.rollup.forget_keys(erasing.project.id)


def _keys_left(erasing: Erasing) -> int:
    """Count the person's events in the files; the warehouse has those of one who has returned."""
    return event_keys.count_removed(
        erasing.services.warehouse, erasing.project.id, erasing.erased.person.all_keys
    )


def _spool_left(erasing: Erasing) -> int:
    """Count the ids in the spool's files, but for those of events that came since."""
    if erasing.services.ingest.last_seq_of(erasing.project.id) > erasing.erased.until:
        return 0
    content = b"".join(path.read_bytes() for path in erasing.services.settings.spool_path.glob("*"))
    return sum(text.encode() in content for text in erasing.erased.ids)


def _refused_left(erasing: Erasing) -> int:
    settings = erasing.services.settings
    return count_refused(settings.refused_events_path, erasing.project.id, erasing.erased.person)


def _assignments_left(erasing: Erasing) -> int:
    """Count the person's keys in the files; of one who has returned none is asked for."""
    erased, settings = erasing.erased, erasing.services.settings
    if erasing.services.ingest.last_seq_of(erasing.project.id) > erased.until:
        return 0
    files = IndexFiles(settings.assignments_path, "").paths(erasing.project.id)
    keys = {key.to_bytes(8, "little") for key in (*erased.visitor_keys, *erased.user_keys)}
    return sum(_count_in(path, keys) for path in files if path.is_file())


def _count_in(path: Path, contents: Collection[bytes]) -> int:
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
        return sum(mapped.find(content) >= 0 for content in contents)


def _blank_outcomes(erasing: Erasing) -> None:
    for path, blanked in _quoting_outcomes(erasing):
        path.write_bytes(blanked)


def _outcomes_left(erasing: Erasing) -> int:
    return sum(1 for _ in _quoting_outcomes(erasing))


def _quoting_outcomes(erasing: Erasing) -> Iterator[tuple[Path, bytes]]:
    blanking = Blanking(erasing.erased.texts)
    for path in outcome_files(erasing.services.settings):
        document: Any = msgspec.json.decode(path.read_bytes())
        if (blanked := blanking.apply(document)) != document:
            yield path, msgspec.json.encode(blanked)


def _copies(settings: Settings) -> Iterator[Path]:
    yield from settings.data_dir.glob(f"{BEFORE_UPGRADE}*")
    yield from settings.data_dir.glob("*.damaged-*")


def _remove_copies(erasing: Erasing) -> None:
    # Not for a mistyped id: they are the way back to an earlier version, and all that is left of a loss.
    if not erasing.erased.is_stored:
        return
    for path in _copies(erasing.services.settings):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _copies_left(erasing: Erasing) -> int:
    return sum(1 for _ in _copies(erasing.services.settings))


_DOCUMENT: Final[dict[str, Text]] = {"*": "document"}
_COPY: Final[dict[str, Text]] = {"*": "copy"}

FILES: Final = (
    Holder(
        name="spool of acknowledged events",
        medium="file",
        where="spool/*",
        texts=_DOCUMENT,
        erase=_leave_spool,
        left=_spool_left,
    ),
    Holder(
        name="events that the warehouse refused",
        medium="file",
        where="refused-events/*",
        texts=_DOCUMENT,
        erase=_erase_refused,
        left=_refused_left,
    ),
    Holder(
        name="first assignments",
        medium="file",
        where="assignments/*",
        texts={"*": "key"},
        erase=_forget_assignments,
        left=_assignments_left,
    ),
    Holder(
        name="keys of events",
        medium="file",
        where="event-keys/*",
        texts={"*": "key"},
        erase=_forget_keys,
        left=_keys_left,
    ),
    Holder(
        name="snapshots",
        medium="file",
        where="snapshots/*",
        texts=_DOCUMENT,
        erase=write_again,
        left=count_left,
    ),
    Holder(
        name="outcomes of imports by commands",
        medium="file",
        where="command-imports/*.outcome command-imports/*.outcome.new",
        texts=_DOCUMENT,
        erase=_blank_outcomes,
        left=_outcomes_left,
    ),
    Holder(
        name="copies from before an upgrade, and damaged files that were set aside",
        medium="file",
        where=f"{BEFORE_UPGRADE}/* {BEFORE_UPGRADE}.unfinished/* *.damaged-*",
        texts=_COPY,
        erase=_remove_copies,
        left=_copies_left,
    ),
    *(
        Holder(name=name, medium="file", where=where, texts=_COPY, kept=kept)
        for name, where, kept in (
            (
                "file of the warehouse",
                "warehouse.duckdb warehouse.duckdb.wal",
                "its tables are erased; removed bytes stay in unused places until these are used again",
            ),
            (
                "file of the catalog",
                "catalog.sqlite3 catalog.sqlite3-wal catalog.sqlite3-shm",
                "its tables are erased, and removed bytes overwritten; PostgreSQL overwrites them by VACUUM",
            ),
            (
                "files of imports that have not ended",
                "import-uploads/* command-imports/* staged-imports/*",
                "until the import ends, which stores no row of the person from before the erasure",
            ),
            (
                "files of queries, counts, exports and restorations under way",
                "warehouse.duckdb.tmp/* rollup.tmp/* exports/* restoring/*",
                "until these end, or the next start",
            ),
        )
    ),
    *(
        Holder(name=name, medium="file", where=where, texts=columns(**{kind: "*"}))
        for name, where, kind in (
            ("marks and locks", "*.mark *.lock", "nothing"),
            ("mark of a demo", "made-by-truelift-demo", "nothing"),
            ("mark of a restored store", "webhooks-held", "nothing"),
            ("state of imports", "import-watermarks/*", "nothing"),
            ("descriptions of sources", "sources/*", "team"),
            ("keyed hashes of erased persons", "erasures/*", "encrypted"),
            ("encryption key", "secrets.key*", "encrypted"),
            ("keys of commands", "command-keys.json*", "encrypted"),
        )
    ),
)

OUTSIDE: Final = (
    Holder(
        name=EVENT_FILES,
        medium="outside",
        where="TRUELIFT_EVENT_FILES",
        texts=_DOCUMENT,
        kept="until TRUELIFT_EVENT_FILES_DAYS; a tombstone beside them has the keys of the person, by which "
        "their readers delete its rows",
    ),
    Holder(
        name="backups",
        medium="outside",
        where="truelift backup",
        texts=_COPY,
        kept="as long as you keep them; a restoration erases whoever was erased since, given the list of a "
        "newer store or backup",
    ),
    Holder(
        name="log lines",
        medium="outside",
        where="standard error",
        texts=_DOCUMENT,
        kept="as long as you keep them; lines name no visitor, but a traceback may quote a value",
    ),
    Holder(
        name="answers kept in memory",
        medium="outside",
        where="memory",
        texts=_DOCUMENT,
        kept="dropped when the results change, as by an erasure",
    ),
    Holder(
        name="counts of requests",
        medium="outside",
        where="memory or Redis",
        texts={"*": "address"},
        kept="a minute",
    ),
)
