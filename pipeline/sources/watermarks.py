"""Watermarks of sources: how far each was imported, and which are to be imported before a verdict counts.

Each import compares every row that it reads with the stored ones, so that late rows are found too. A
watermark decides where a source with `lookback_days` begins to read, and that experiments with new exposures
wait for the sources of their events.
"""

import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from engine.typed_records import record_from_json
from pipeline.store.private_files import make_private_folder
from pipeline.store.sealed_files import seal, unseal

logger = logging.getLogger(__name__)
FOLDER: Final = "import-watermarks"


class Watermark(msgspec.Struct, frozen=True, kw_only=True):
    """State after the last import of a source: its time, the newest time of any row, and the rows it read.

    `meaning` is that of its description. A source of exposures has the ids of their `experiments`, and
    `awaits` the sources of events that were not imported since it brought new ones. The statements of a
    warehouse read `month_rows` in its last `month`, such as `2026-11`; `bytes_billed` are those of its last
    run, where its engine tells.
    """

    imported_at: datetime
    newest_at: datetime | None
    rows: int
    new_rows: int
    rejected: int
    meaning: str | None = None
    experiments: tuple[str, ...] = ()
    awaits: tuple[str, ...] = ()
    month: str | None = None
    month_rows: int = 0
    bytes_billed: int | None = None


NEVER_IMPORTED: Final = Watermark(
    imported_at=datetime.fromtimestamp(0, UTC), newest_at=None, rows=0, new_rows=0, rejected=0
)


def read_watermarks(data_dir: Path, project_id: str) -> Mapping[str, Watermark]:
    """Read the watermarks of a project by the name of the source."""
    path = _path(data_dir, project_id)
    try:
        state = path.stat()
        return _read(path, (state.st_ino, state.st_mtime_ns, state.st_size))
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, ValueError) as error:
        logger.warning("%s is damaged (%s): sources are read from their beginning", path, error)
        return {}


def all_watermarks(data_dir: Path, source: str) -> dict[str, Watermark]:
    """Read the watermarks of a source by project."""
    projects = sorted(path.stem for path in (data_dir / FOLDER).glob("*.json"))
    marks = {project: read_watermarks(data_dir, project).get(source) for project in projects}
    return {project: mark for project, mark in marks.items() if mark is not None}


def missing_sources(
    data_dir: Path, project_id: str, experiment_id: str, *, counted_until: datetime | None = None
) -> tuple[str, ...]:
    """Name the sources without whose rows an experiment is not to be judged, in order.

    Those that were not imported since its newest exposures, and those imported after `counted_until` where
    not every event after that is counted. None of an experiment whose exposures no source has.
    """
    marks = read_watermarks(data_dir, project_id)
    own = [mark for mark in marks.values() if experiment_id in mark.experiments]
    if not own:
        return ()
    uncounted = {name for name, mark in marks.items() if counted_until and mark.imported_at > counted_until}
    return tuple(sorted(uncounted.union(*(mark.awaits for mark in own))))


def write_watermark(data_dir: Path, project_id: str, source: str, watermark: Watermark) -> None:
    """Replace the watermark of a source, for which no other one waits any more; OSError."""
    path = _path(data_dir, project_id)
    make_private_folder(path.parent)
    marks = {
        name: msgspec.structs.replace(mark, awaits=tuple(one for one in mark.awaits if one != source))
        for name, mark in read_watermarks(data_dir, project_id).items()
    }
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(seal(msgspec.json.encode({**marks, source: watermark})))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def remove_watermarks(data_dir: Path, project_id: str) -> None:
    """Remove the watermarks of a project, if there are any."""
    _path(data_dir, project_id).unlink(missing_ok=True)


@lru_cache(maxsize=256)
def _read(path: Path, _state: tuple[int, ...]) -> Mapping[str, Watermark]:
    """Read a file once in each of its states."""
    return record_from_json(unseal(path.read_bytes()), dict[str, Watermark])


def _path(data_dir: Path, project_id: str) -> Path:
    return data_dir / FOLDER / f"{project_id}.json"
