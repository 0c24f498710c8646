"""Tables that imports read: chunks of rows with their lines, and errors of reading."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final, Protocol

import polars as pl

CHUNK_ROWS = 50_000
# A chunk of a wide table has fewer rows.
CHUNK_CELLS: Final = 1_000_000
MAX_COLUMNS: Final = 2_000
# Column of the line numbers; its name is none that a table is likely to have.
LINE: Final = "(line)"


class UnreadableSourceError(Exception):
    """A table that is missing, of an unknown format, or broken."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is not imported: its line in the table of that name, counted from 1, and the reason."""

    line: int
    reason: str
    table: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table: `rows` has a column `LINE`; `done` is the progress through the table's size."""

    rows: pl.DataFrame
    bad_rows: tuple[BadRow, ...] = ()
    done: int = 0
    table: str = ""


class Table(Protocol):
    """Rows that are read in chunks, in the same order each time while nothing changes them."""

    @property
    def name(self) -> str:
        """Name for messages, without secrets; tables of one import have different names."""

    @property
    def size(self) -> int:
        """Number that `done` of the chunks counts up to; 0 where it is unknown."""

    def read(self) -> Generator[Chunk, None, None]:
        """Read one state of the table, and at least its columns; UnreadableSourceError."""


def read_tables(tables: Sequence[Table]) -> Generator[Chunk, None, None]:
    """Read several tables one after the other; `done` counts through all of them.

    A caller that may end early closes them, so that no database is held up by a reader that nobody uses.

    Raises:
        UnreadableSourceError: one of them cannot be read, or changes while it is read.
    """
    before = 0
    for table in tables:
        with closing(table.read()) as chunks:
            for chunk in chunks:
                yield replace(chunk, done=before + chunk.done)
        before += table.size


def require_columns(chunk: Chunk, names: Iterable[str]) -> None:
    """Raise UnreadableSourceError where a chunk lacks one of the columns."""
    columns = [name for name in chunk.rows.columns if name != LINE]
    missing = [name for name in names if name not in columns]
    if missing:
        raise UnreadableSourceError(
            f"{chunk.table} has no column {', '.join(map(repr, missing))}; it has {', '.join(columns)}"
        )


def require_width(columns: int, table: str) -> None:
    """Raise UnreadableSourceError where a table has too many columns."""
    if columns > MAX_COLUMNS:
        raise UnreadableSourceError(
            f"{table} has {columns:,} columns, more than the {MAX_COLUMNS:,} that are read; leave some out"
        )


def chunk_rows(columns: int) -> int:
    """Return the rows of a chunk of a table with so many columns."""
    return min(CHUNK_ROWS, max(1, CHUNK_CELLS // max(1, columns)))


def numbered_chunks(frames: Iterable[pl.DataFrame], table: str) -> Iterator[Chunk]:
    """Number the rows of frames from 1, as chunks of the table of that name; `done` counts rows."""
    done = 0
    for frame in frames:
        rows = as_read(frame).with_row_index(LINE, offset=done + 1).cast({LINE: pl.Int64})
        done += frame.height
        yield Chunk(rows=rows, done=done, table=table)


def as_read(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert decimals, categories and binary ids of a frame to text, which every import takes."""
    texts = [
        name for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal | pl.Categorical | pl.Enum)
    ]
    return frame.with_columns(pl.col(texts).cast(pl.String)) if texts else frame
