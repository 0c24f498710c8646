"""Rows of CSV text, with their lines and those that do not fit the header."""

import csv
from collections.abc import Iterator
from io import TextIOWrapper
from typing import IO, Final

import polars as pl

from pipeline.sources import tables
from pipeline.sources.tables import LINE, BadRow, Chunk, UnreadableSourceError

# A row is held whole, and a chunk ends with the row that reaches so many characters.
ROW_CHARACTERS: Final = 4 * 2**20
CHUNK_CHARACTERS: Final = 16 * 2**20


def read_csv_rows(file: IO[bytes], name: str) -> Iterator[Chunk]:
    """Read the rows of an open file as text, in chunks of bounded size.

    Raises:
        UnreadableSourceError: there is no usable header, a row is too long, or the last line breaks off.
    """
    text = TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        lines = _Lines(text, name)
        reader = csv.reader(lines, strict=True)
        gathered = _Gathered(_header(reader, name), name)
        lines.row_characters = 0
        for row in reader:
            gathered.add(row, reader.line_num, lines)
            lines.row_characters = 0
            if gathered.is_full:
                yield gathered.take()
        yield gathered.take()
    finally:
        # The caller closes the file.
        text.detach()


def _header(rows: Iterator[list[str]], name: str) -> list[str]:
    header = next(rows, None)
    if header is None:
        raise UnreadableSourceError(f"{name} is empty")
    tables.require_width(len(header), name)
    if len(set(header)) != len(header):
        raise UnreadableSourceError(f"{name} has two columns of one name; rename one")
    return header


class _Lines:
    """Lines of a text, of which the latest is kept; `row_characters` counts those of the row at hand."""

    def __init__(self, text: TextIOWrapper, name: str) -> None:
        self._text = text
        self._name = name
        self.latest = ""
        self.row_characters = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(ROW_CHARACTERS + 1 - self.row_characters):
            self.row_characters += len(line)
            if self.row_characters > ROW_CHARACTERS:
                raise UnreadableSourceError(
                    f"{self._name} has a row of more than {ROW_CHARACTERS:,} characters; is it CSV?"
                )
            self.latest = line
            yield line


class _Gathered:
    """Rows of the chunk at hand."""

    def __init__(self, header: list[str], name: str) -> None:
        self._header = header
        self._name = name
        self._most_rows = tables.chunk_rows(len(header))
        self._begin()

    def _begin(self) -> None:
        self._rows: list[list[str]] = []
        self._numbers: list[int] = []
        self._bad: list[BadRow] = []
        self._characters = 0

    @property
    def is_full(self) -> bool:
        """Tell whether the chunk has as many rows, cells or characters as one may have."""
        return (
            len(self._rows) + len(self._bad) >= tables.CHUNK_ROWS
            or len(self._rows) >= self._most_rows
            or self._characters >= CHUNK_CHARACTERS
        )

    def add(self, row: list[str], number: int, lines: _Lines) -> None:
        """Add a row that ends in the line of that number; UnreadableSourceError where it breaks off."""
        width = len(self._header)
        if len(row) == width:
            self._rows.append(row)
            self._numbers.append(number)
            self._characters += lines.row_characters
        elif row and len(row) < width and not lines.latest.endswith(("\n", "\r")):
            raise UnreadableSourceError(
                f"{self._name} breaks off in line {number}, which has {len(row)} fields of "
                f"{width} and no end; give the whole file"
            )
        elif row:
            fault = f"has {len(row)} fields where the header has {width}"
            self._bad.append(BadRow(number, fault, self._name))

    def take(self) -> Chunk:
        """Return the chunk, and begin the next one."""
        chunk = Chunk(
            _text_frame(self._header, self._rows, self._numbers), tuple(self._bad), table=self._name
        )
        self._begin()
        return chunk


def _text_frame(header: list[str], rows: list[list[str]], lines: list[int]) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    texts = {
        name: pl.Series(name, values, dtype=pl.String) for name, values in zip(header, columns, strict=True)
    }
    return pl.DataFrame(texts).with_columns(pl.Series(LINE, lines, dtype=pl.Int64))
