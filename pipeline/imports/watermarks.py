"""Watermarks of sources: how far each was imported, for people and programs to see.

They decide nothing but where a source with `lookback_days` begins to read: each import compares every row
that it reads with the stored ones, so that late rows are found too.
"""

from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from engine.typed_records import record_from_json
from pipeline.store.private_files import make_private_folder

_FOLDER: Final = "import-watermarks"


class Watermark(msgspec.Struct, frozen=True, kw_only=True):
    """State after the last import of a source: its time, the newest time of any row, and the rows it read."""

    imported_at: datetime
    newest_at: datetime | None
    rows: int
    new_rows: int
    rejected: int


def read_watermarks(data_dir: Path, project_id: str) -> dict[str, Watermark]:
    """Read the watermarks of a project by the name of the source."""
    try:
        return record_from_json(_path(data_dir, project_id).read_bytes(), dict[str, Watermark])
    except (OSError, msgspec.DecodeError):
        return {}


def all_watermarks(data_dir: Path, source: str) -> dict[str, Watermark]:
    """Read the watermarks of a source by project."""
    projects = sorted(path.stem for path in (data_dir / _FOLDER).glob("*.json"))
    marks = {project: read_watermarks(data_dir, project).get(source) for project in projects}
    return {project: mark for project, mark in marks.items() if mark is not None}


def write_watermark(data_dir: Path, project_id: str, source: str, watermark: Watermark) -> None:
    """Replace the watermark of a source; OSError."""
    path = _path(data_dir, project_id)
    make_private_folder(path.parent)
    marks = {**read_watermarks(data_dir, project_id), source: watermark}
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.encode(marks))
    new.replace(path)


def remove_watermarks(data_dir: Path, project_id: str) -> None:
    """Remove the watermarks of a project, if there are any."""
    _path(data_dir, project_id).unlink(missing_ok=True)


def _path(data_dir: Path, project_id: str) -> Path:
    return data_dir / _FOLDER / f"{project_id}.json"
