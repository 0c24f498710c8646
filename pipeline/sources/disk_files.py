"""CSV and Parquet files on disk, read in chunks with the line of each row."""

import csv
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from pipeline.sources.csv_rows import read_csv_rows
from pipeline.sources.tables import (
    Chunk,
    UnreadableSourceError,
    chosen_columns,
    chunk_rows,
    numbered_chunks,
    require_width,
)

FORMATS: Final = (".csv", ".parquet")
# What reading a broken file raises.
BROKEN: Final = (csv.Error, UnicodeDecodeError, pl.exceptions.PolarsError, OSError, ValueError)


class FileState(NamedTuple):
    """State of a file: its size in bytes, the time of its last change (ns since 1970), and its inode."""

    size: int
    changed_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class FileTable:
    """A CSV file (read as text) or a Parquet file (as typed).

    `partition` has the columns that the names of the file's folders give, None for an unknown value.
    """

    path: Path
    name: str
    partition: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return state_of(self.path).size

    def read(self, columns: Sequence[str] | None = None) -> Generator[Chunk, None, None]:
        """Read chunks of at most 50,000 rows, fewer of wide tables.

        Raises:
            UnreadableSourceError: the file is missing, of another kind, broken, or changes meanwhile.
        """
        state = state_of(self.path)
        is_csv = file_format(self.path) == ".csv"
        try:
            for chunk in self._read_csv() if is_csv else self._read_parquet(columns):
                yield with_partition(chunk, self.partition)
        except BROKEN as broken:
            raise UnreadableSourceError(f"{self.name} cannot be read: {broken}") from broken
        if state_of(self.path) != state:
            raise changed(self.name)

    def _read_csv(self) -> Iterator[Chunk]:
        with self.path.open("rb") as file:
            for chunk in read_csv_rows(file, self.name):
                yield replace(chunk, done=min(file.tell(), self.size))

    def _read_parquet(self, columns: Sequence[str] | None) -> Iterator[Chunk]:
        size = self.size
        file = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
        require_width(len(file.collect_schema()), self.name)
        file = file.select(chosen_columns(file.collect_schema().names(), columns, self.partition))
        total = file.select(pl.len()).collect().item()
        frames = (
            file.collect_batches(chunk_size=chunk_rows(len(file.collect_schema())))
            if total
            else [file.collect()]
        )
        for chunk in numbered_chunks(frames, self.name):
            yield replace(chunk, done=size * chunk.done // max(total, 1))


def with_partition(chunk: Chunk, partition: Mapping[str, str | None]) -> Chunk:
    """Add the columns that the names of folders give; a column of the rows themselves stays."""
    values = [
        pl.lit(value, pl.String).alias(name)
        for name, value in partition.items()
        if name not in chunk.rows.columns
    ]
    return replace(chunk, rows=chunk.rows.with_columns(values)) if values else chunk


def changed(name: str) -> UnreadableSourceError:
    """Build the error of a table that changed while it was read."""
    return UnreadableSourceError(f"{name} changed while it was read; import it again once it is complete")


def state_of(path: Path) -> FileState:
    """Return the state of a file; UnreadableSourceError for a missing one."""
    _require_file(path)
    status = path.stat()
    return FileState(status.st_size, status.st_mtime_ns, status.st_ino)


def file_format(path: Path) -> str:
    """Return `.csv` or `.parquet`; UnreadableSourceError for any other file, and a missing one."""
    _require_file(path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UnreadableSourceError(f"{path.name} is neither .csv nor .parquet; convert it to one of the two")
    return suffix


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise UnreadableSourceError(f"there is no file {path}")
