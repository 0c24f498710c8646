"""Acknowledged events that the warehouse refuses: kept in files of their own, for `truelift check`."""

import os
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from pipeline.disk_space import disk_full_errors
from pipeline.ingest.spooled_events import EventGroup
from pipeline.store.private_files import OWNERS_FILE, make_private_folder
from pipeline.store.warehouse.erasure.person_ids import PersonIds


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
            _write(folder / f"{group.first_seq}.json", content)


def erase_refused(folder: Path, project_id: str, person: PersonIds) -> int:
    """Remove a person's events from the files, and files without another event; return how many there were.

    Raises DiskFullError and OSError.
    """
    visitors, users = set(person.visitor_keys), set(person.user_keys)
    erased = 0
    for path in sorted(folder.glob("*.json")):
        content = msgspec.json.decode(path.read_bytes())
        if content["project_id"] != project_id:
            continue
        left = [one for one in content["events"] if not _is_of(one, visitors, users)]
        erased += len(content["events"]) - len(left)
        if not left:
            path.unlink()
        elif len(left) < len(content["events"]):
            draft = path.with_suffix(".new")
            with disk_full_errors():
                _write(draft, content | {"events": left})
            draft.replace(path)
    return erased


def count_refused(folder: Path, project_id: str, person: PersonIds) -> int:
    """Count a person's events in the files; OSError."""
    visitors, users = set(person.visitor_keys), set(person.user_keys)
    contents = (msgspec.json.decode(path.read_bytes()) for path in folder.glob("*.json"))
    return sum(
        _is_of(event, visitors, users)
        for content in contents
        if content["project_id"] == project_id
        for event in content["events"]
    )


def _is_of(event: Mapping[str, Any], visitors: Container[int], users: Container[int]) -> bool:
    of_visitor = visitors if event.get("visitor_id") is not None else users
    return event.get("visitor_key") in of_visitor or event.get("user_key") in users


def _write(path: Path, content: Mapping[str, Any]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNERS_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(content))
        file.flush()
        os.fsync(file.fileno())
