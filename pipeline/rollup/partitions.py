"""Rows partitioned by ranges of a hashed key, in memory up to a size, and in files beyond it."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from pipeline.disk_space import disk_full_errors
from pipeline.store.warehouse.event_ranges import Bucket

# Rows of one set of partitions in memory; more are written to files.
MOST_BYTES: Final = 384 * 2**20
# Up to this many, selecting the rows of each part is quicker than grouping rows by their parts.
_FEW_PARTS: Final = 10


class Partitions:
    """Rows in parts by the bucket of their key.

    A part keeps its rows in the order in which they were added. Files are beside each other in `folder`,
    which is made with the first of them.
    """

    def __init__(
        self, key: str, buckets: Sequence[Bucket], folder: Path, *, most_bytes: int = MOST_BYTES
    ) -> None:
        """Start empty; the rows have the column `key`, and `buckets` hold every key, in order."""
        self._key = key
        self._folder = folder
        self._most_bytes = most_bytes
        self._edges = np.array([bucket.low for bucket in buckets[1:]], np.uint64)
        self._in_memory: list[list[pl.DataFrame]] = [[] for _ in buckets]
        self._files: list[list[Path]] = [[] for _ in buckets]
        self._bytes = 0
        self._no_rows: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> None:
        """Add rows, each to its part; DiskFullError where they do not fit the disk."""
        self._no_rows = [rows.clear()]
        if rows.is_empty():
            return
        for number, part in self._split(rows).items():
            self._in_memory[number].append(part)
        self._bytes += int(rows.estimated_size())
        if self._bytes > self._most_bytes:
            self._write_files()

    def take(self, number: int) -> pl.DataFrame:
        """Return the rows of a part, which is empty from now on; something was added before."""
        parts = [*self._no_rows, *map(pl.read_ipc, self._files[number]), *self._in_memory[number]]
        rows = pl.concat(parts, rechunk=True)
        for path in self._files[number]:
            path.unlink()
        self._files[number], self._in_memory[number] = [], []
        return rows

    def _split(self, rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
        if not self._edges.size:
            return {0: rows}
        numbers = pl.Series("part", np.searchsorted(self._edges, rows[self._key].to_numpy(), side="right"))
        if len(self._files) <= _FEW_PARTS:
            parts = {number: rows.filter(numbers == number) for number in range(len(self._files))}
            return {number: part for number, part in parts.items() if part.height}
        split = rows.with_columns(numbers).partition_by("part", as_dict=True, include_key=False)
        return {int(str(number)): part for (number,), part in split.items()}

    def _write_files(self) -> None:
        self._folder.mkdir(exist_ok=True)
        for number, parts in enumerate(self._in_memory):
            if not parts:
                continue
            path = self._folder / f"{id(self):x}-{number}-{len(self._files[number])}.arrow"
            # Polars raises errors without a number where it writes a file itself.
            content = pl.concat(parts).write_ipc(None)
            with disk_full_errors():
                path.write_bytes(content.getbuffer())
            self._files[number].append(path)
        self._in_memory = [[] for _ in self._in_memory]
        self._bytes = 0


@contextmanager
def partition_files(data_dir: Path) -> Iterator[Path]:
    """Provide the folder of the files of partitions, removed at the end; those of a killed run are, too."""
    folder = data_dir / "rollup.tmp"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
