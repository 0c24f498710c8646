"""Event keys: a project's events found by keys in files beside the warehouse, instead of by a scan.

The files are a cache of the table, in runs that follow each other; newer events are looked through. Of
removed events they hold numbers that no event has any more.
"""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame, registered
from pipeline.store.warehouse.events import count_between, has_table, table_name
from pipeline.store.warehouse.incremental.key_runs import (
    COLUMNS,
    KeyRun,
    NewestEvent,
    merge_runs,
    pack,
    read_runs,
    remove_runs,
    write_run,
)

logger = logging.getLogger(__name__)

# So many newer events are looked through, which takes a few milliseconds.
MIN_EVENTS: Final = 2**18
# Numbers whose events are read and sorted at once.
_AT_ONCE: Final = 2**20
# A run takes in the one before it unless that is so many times as large.
_RATIO: Final = 2


def open_runs(cursor: Cursor, folder: Path, project_id: str) -> list[KeyRun]:
    """Open the files of a project whose events are those of its table; none without such files."""
    runs = read_runs(folder, project_id)
    if runs:
        newest = f'SELECT seq, event_key, received_at FROM "{table_name(project_id)}" WHERE seq = ?'
        if cursor.execute(newest, [runs[-1].until]).fetchall() != [runs[-1].newest]:
            return []
    return runs


def find_seqs(runs: Sequence[KeyRun], column: str, keys: pl.Series) -> pl.Series:
    """Find the numbers (`seq`) of the events with one of the keys, and perhaps of a few others."""
    in_order = keys.sort().to_numpy()
    found = [np.empty(0, np.int64), *(run.find(column, in_order) for run in runs)]
    return pl.Series("seq", np.unique(np.concatenate(found)))


def count_removed(warehouse: Warehouse, project_id: str, visitor_keys: pl.Series) -> int:
    """Count the events of visitors that the files have, and the table does not have any more."""
    runs = read_runs(warehouse.event_keys_path, project_id)
    found = find_seqs(runs, "visitor_key", visitor_keys)
    with warehouse.cursor() as cursor, registered(cursor, "found_seqs", found.to_frame()):
        if not has_table(cursor, project_id):
            return len(found)
        query = f'SELECT count(*) FROM found_seqs ANTI JOIN "{table_name(project_id)}" USING (seq)'
        return int(cursor.execute(query).fetchall()[0][0])


def remove(warehouse: Warehouse, project_id: str) -> None:
    """Remove a project's files; they are gone from the disk once it returns. OSError."""
    remove_runs(warehouse.event_keys_path, project_id)


def stored_projects(warehouse: Warehouse) -> set[str]:
    """List the projects that have files."""
    return {path.name.partition(".")[0] for path in warehouse.event_keys_path.glob("*")}


def catch_up(warehouse: Warehouse, project_id: str, *, until: int) -> None:
    """Add the events up to a number to the files, where many are not in them; what fails is logged."""
    try:
        with warehouse.cursor() as cursor:
            _catch_up(warehouse, cursor, project_id, until)
    except Exception as error:  # noqa: BLE001 - results are published already, and a scan finds events, too
        logger.warning(
            "keys of project %s are not written, and its events looked through: %s", project_id, error
        )


def _catch_up(warehouse: Warehouse, cursor: Cursor, project_id: str, until: int) -> None:
    folder = warehouse.event_keys_path
    runs = open_runs(cursor, folder, project_id)
    covered = runs[-1].until if runs else 0
    if until - covered < MIN_EVENTS:
        return
    new = count_between(cursor, project_id, after=covered, until=until)
    if new < MIN_EVENTS:
        return
    # The new ones twice, and the older ones once more for a merge.
    warehouse.require_space(more_bytes=8 * (2 * len(COLUMNS) * new + sum(run.size for run in runs)))
    remove_runs(folder, project_id, but=runs)
    for events in _read_events(cursor, project_id, covered, until):
        runs.append(_write(folder, project_id, runs, events))
    first, size = len(runs) - 1, runs[-1].size
    while first and runs[first - 1].size <= _RATIO * size:
        first -= 1
        size += runs[first].size
    if first < len(runs) - 1:
        merged = merge_runs(folder, project_id, runs[first:])
        remove_runs(folder, project_id, but=[*runs[:first], merged])


def _read_events(cursor: Cursor, project_id: str, after: int, until: int) -> Iterator[pl.DataFrame]:
    events = f'FROM "{table_name(project_id)}" WHERE seq > {{}} AND seq <= {until:d}'
    ((oldest,),) = cursor.execute(f"SELECT min(seq) {events.format(after)}").fetchall()
    for first in range(oldest - 1, until, _AT_ONCE):
        rows = f"{events.format(first)} AND seq <= {first + _AT_ONCE:d}"
        found = fetch_frame(cursor, f"SELECT seq, received_at, {', '.join(COLUMNS)} {rows}")
        if not found.is_empty():
            yield found


def _write(folder: Path, project_id: str, runs: Sequence[KeyRun], events: pl.DataFrame) -> KeyRun:
    after = runs[-1].until if runs else 0
    newest = NewestEvent(*events.select(NewestEvent._fields).sort("seq").row(-1))
    columns = []
    for name in COLUMNS:
        keyed = events.select("seq", name).drop_nulls()
        columns.append([pack(keyed[name].to_numpy(), keyed["seq"].to_numpy(), after, newest.seq)])
    return write_run(folder, project_id, newest, after, columns)
