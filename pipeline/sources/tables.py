"""Tables that imports read: chunks of rows with their lines, and errors of reading."""

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final, Protocol

import polars as pl

from pipeline.sources.times import is_in_calendar

CHUNK_ROWS = 50_000
# A chunk of a wide table has fewer rows.
CHUNK_CELLS: Final = 1_000_000
MAX_COLUMNS: Final = 2_000
# Column of the line numbers; its name is none that a table is likely to have.
LINE: Final = "(line)"
_VALUES: Final = (pl.String, pl.Boolean, pl.Date, pl.Datetime, pl.Time, pl.Categorical, pl.Enum, pl.Null)


class UnreadableSourceError(Exception):
    """A table that is missing, of an unknown format, or broken."""


# How S3 and its clients say that they refuse credentials.
_REFUSED: Final = re.compile(
    r"ACCESS_?DENIED|INVALID_?ACCESS_?KEY_?ID|SIGNATURE_?DOES_?NOT_?MATCH|UNRECOGNIZED_?CLIENT|"
    r"INVALID_?CLIENT_?TOKEN_?ID|EXPIRED_?TOKEN|403|Forbidden|no credentials|lacked the necessary privileges",
    re.IGNORECASE,
)


def unreadable(name: str, why: str) -> UnreadableSourceError:
    """Build the error of a table that cannot be read, for a reason in the words of a library."""
    if name.startswith("s3://") and _REFUSED.search(why):
        return UnreadableSourceError(
            f"S3 refuses to show {name} with the credentials of the environment; check AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY, the region and the permissions"
        )
    return UnreadableSourceError(f"{name} cannot be read: {why}")


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is not imported: its line in the table of that name, counted from 1, and the reason."""

    line: int
    reason: str
    table: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table: `rows` has a column `LINE`; `done` is the progress through the table's size.

    `delimiter` is that of the cells of a text file, by which numbers in them are understood.
    """

    rows: pl.DataFrame
    bad_rows: tuple[BadRow, ...] = ()
    done: int = 0
    table: str = ""
    delimiter: str = ","


class Table(Protocol):
    """Rows that are read in chunks, in the same order each time while nothing changes them."""

    @property
    def name(self) -> str:
        """Name for messages, without secrets; tables of one import have different names."""

    @property
    def size(self) -> int:
        """Number that `done` of the chunks counts up to; 0 where it is unknown."""

    def read(self, columns: Sequence[str] | None = None) -> Generator[Chunk, None, None]:
        """Read one state of the table, and at least its columns; UnreadableSourceError.

        With `columns`, others may be left out where it has all of these.
        """


def read_tables(
    tables: Sequence[Table], columns: Sequence[str] | None = None
) -> Generator[Chunk, None, None]:
    """Read several tables one after the other; `done` counts through all of them.

    With `columns`, only these are read, and types that no import takes are refused in them.
    A caller that may end early closes them, so that no database is held up by a reader that nobody uses.

    Raises:
        UnreadableSourceError: one of them cannot be read, lacks a column, or changes while it is read.
    """
    before = 0
    columns = None if columns is None else list(dict.fromkeys(columns))
    for table in tables:
        with closing(table.read(columns)) as chunks:
            for chunk in chunks:
                chosen = chunk if columns is None else _with_columns(chunk, columns)
                yield replace(chosen, done=before + chunk.done)
        before += table.size


def chosen_columns(
    found: Sequence[str], wanted: Sequence[str] | None, beside: Collection[str] = ()
) -> Sequence[str]:
    """Choose the wanted columns of those found; all of them where one is missing there and `beside` them."""
    if wanted is None or not set(wanted) <= {*found, *beside}:
        return found
    # Without a column there would be no rows.
    return [name for name in found if name in wanted] or found


def _with_columns(chunk: Chunk, names: Sequence[str]) -> Chunk:
    """Choose columns of a chunk; UnreadableSourceError where one is missing, or has no single values."""
    columns = [name for name in chunk.rows.columns if name != LINE]
    missing = [name for name in names if name not in columns]
    if missing:
        raise UnreadableSourceError(
            f"{chunk.table} has no column {', '.join(map(repr, missing))}; it has {', '.join(columns)}"
        )
    schema = chunk.rows.schema
    # Polars gives up, with a panic, at the text of a date that no calendar has.
    usable = (pl.when(is_in_calendar(name, schema[name])).then(pl.col(name)).alias(name) for name in names)
    rows = chunk.rows.select(LINE, *usable)
    for name, kind in rows.schema.items():
        require_value(name, kind, chunk.table)
    return replace(chunk, rows=rows)


def is_value(kind: pl.DataType) -> bool:
    """Tell whether a type is that of texts, numbers, booleans, dates or times."""
    return kind.is_numeric() or isinstance(kind, _VALUES)


def require_value(name: str, kind: pl.DataType, table: str) -> None:
    """Raise UnreadableSourceError where a column has bytes, intervals, or several values a row."""
    if not is_value(kind):
        what = "bytes that are no text" if kind == pl.Binary else f"values of the type {kind}"
        raise UnreadableSourceError(
            f"'{name}' of {table} has {what}, which no import reads; write them as text or numbers"
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
    """Convert decimals, categories and bytes that are text to text, which every import takes."""
    texts = [
        name
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.Decimal | pl.Categorical | pl.Enum)
        or (kind == pl.Binary and _is_text(frame[name]))
    ]
    return frame.with_columns(pl.col(texts).cast(pl.String)) if texts else frame


def _is_text(column: pl.Series) -> bool:
    try:
        column.cast(pl.String)
    except pl.exceptions.ComputeError:
        return False
    return True
