"""Parquet files of events: a snapshot's, or any with the same columns."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from engine.local_days import from_epoch_microseconds
from pipeline.snapshots.manifest import MANIFEST, read_manifest
from pipeline.store.event_columns import ADDED_COLUMNS
from pipeline.store.warehouse.events import EVENT_SCHEMA

SCHEMA: Final = pl.Schema({"seq": pl.Int64(), **EVENT_SCHEMA})
# Rows in memory at once.
_AT_ONCE: Final = 500_000


class EventTable(Protocol):
    """Rows that are events by a description; it can be pickled."""

    def read(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Read columns with the types of SCHEMA, in batches; UnusableEventsError."""
        ...


class UnusableEventsError(Exception):
    """Events that cannot be counted; the message names the file and what is wrong with it."""


def find_files(folder: Path, project_id: str) -> list[Path]:
    """List the files of events in `folder`, all of which have SCHEMA but for columns of later versions.

    Raises UnusableEventsError for any other file.

    Of a snapshot these are the files that its manifest names, of any other folder all Parquet files in it.
    Raises UnreadableSnapshotError for a damaged manifest.
    """
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(folder)
        if manifest.project_id != project_id:
            raise UnusableEventsError(
                f"{folder} is a snapshot of the project {manifest.project_id}, not of {project_id}"
            )
        paths = [folder / file.path for file in manifest.events]
    else:
        paths = sorted(folder.rglob("*.parquet"))
    if not paths:
        raise UnusableEventsError(f"there is no Parquet file of events in {folder}")
    for path in paths:
        _check(path)
    return paths


def counted_until(folder: Path, paths: Sequence[Path]) -> datetime | None:
    """Return the time up to which files have every event: a snapshot's, or that of the newest event.

    None without events.
    """
    if (folder / MANIFEST).is_file():
        return read_manifest(folder).taken_at
    newest = [
        typed(
            pl.scan_parquet(path, glob=False, hive_partitioning=False)
            .select(pl.col("received_at").max())
            .collect(),
            ["received_at"],
        ).item()
        for path in paths
    ]
    return max((from_epoch_microseconds(one) for one in newest if one is not None), default=None)


def count_events(paths: Iterable[Path]) -> int:
    """Count the events in files, without reading them."""
    return sum(int(pq.read_metadata(path).num_rows) for path in paths)


def read_batches(path: Path | EventTable, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Read columns of a file with the types of SCHEMA, in batches; those that it lacks are null."""
    if not isinstance(path, Path):
        yield from path.read(columns)
        return
    file = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    stored = file.collect_schema().names()
    lacking = [pl.lit(None, SCHEMA[name]).alias(name) for name in columns if name not in stored]
    wanted = file.select(name for name in columns if name in stored)
    for first in range(0, file.select(pl.len()).collect().item(), _AT_ONCE):
        yield typed(wanted.slice(first, _AT_ONCE).collect().with_columns(lacking), columns)


def typed(events: pl.DataFrame, columns: Collection[str]) -> pl.DataFrame:
    """Give events the types of SCHEMA: times are in microseconds since 1970."""
    times = [
        pl.col(name).dt.epoch("us").alias(name)
        for name, kind in events.schema.items()
        if isinstance(kind, pl.Datetime)
    ]
    return events.with_columns(times).select(pl.col(name).cast(SCHEMA[name]) for name in columns)


def _check(path: Path) -> None:
    try:
        found = pl.DataFrame(pq.read_schema(path).empty_table()).schema
    except (OSError, pa.ArrowException) as error:
        raise UnusableEventsError(f"{path} is no Parquet file: {error}") from error
    missing = [name for name in SCHEMA if name not in found and name not in ADDED_COLUMNS]
    if missing:
        raise UnusableEventsError(f"{path} lacks the columns {', '.join(missing)}")
    for name, wanted in SCHEMA.items():
        is_time = name in {"received_at", "occurred_at"} and isinstance(found.get(name), pl.Datetime)
        if name in found and found[name] != wanted and not is_time:
            raise UnusableEventsError(f"{path} has {found[name]} in the column {name}, which has {wanted}")
