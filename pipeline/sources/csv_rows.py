"""Rows of CSV text, with their lines and those that do not fit the header."""

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase, TextIOWrapper
from typing import IO, Final, NamedTuple, cast

import polars as pl

from pipeline.sources import tables
from pipeline.sources.tables import LINE, BadRow, Chunk, UnreadableSourceError

DELIMITERS: Final = (",", ";", "\t")
_QUOTED: Final = re.compile(r'"[^"]*"')
_SEPARATOR: Final = re.compile(r'"?sep=([,;\t])"?\r?\n\Z')
# A row is held whole, and a chunk ends with the row that reaches so many characters.
ROW_CHARACTERS: Final = 4 * 2**20
CHUNK_CHARACTERS: Final = 16 * 2**20


def read_csv_rows(file: IO[bytes], name: str) -> Iterator[Chunk]:
    """Read the rows of an open file as text, in chunks of bounded size.

    The delimiter is the comma, the semicolon or the tab, whichever the header has most of.

    Raises:
        UnreadableSourceError: there is no usable header, a row is too long, the text is neither UTF-8 nor
            UTF-16 with its mark, or the last line breaks off.
    """
    with _decoded(file, name) as text:
        yield from _chunks(_Lines(text, name), name)


class CsvForm(NamedTuple):
    """Form of a file of text: its encoding, its delimiter, and the lines before that of the names."""

    encoding: str
    delimiter: str
    skipped: int


def csv_form(file: IO[bytes], name: str) -> CsvForm:
    """Find the form of an open file by its beginning; UnreadableSourceError for another encoding."""
    with _decoded(file, name) as text:
        lines = _Lines(text, name)
        return CsvForm(text.encoding, lines.delimiter, lines.skipped)


@contextmanager
def _decoded(file: IO[bytes], name: str) -> Iterator[TextIOWrapper]:
    """Read a file as text, in the encoding that the mark at its beginning tells."""
    marked = BufferedReader(cast("RawIOBase", file))
    is_utf16 = marked.peek(2).startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    text = TextIOWrapper(marked, encoding="utf-16" if is_utf16 else "utf-8-sig", newline="")
    try:
        yield text
    except UnicodeError as error:
        raise _of_another_encoding(name) from error
    finally:
        # The caller closes the file.
        text.detach()
        marked.detach()


def _of_another_encoding(name: str) -> UnreadableSourceError:
    return UnreadableSourceError(
        f"{name} is no text in UTF-8, nor in UTF-16 with its mark; save it as `CSV UTF-8` in Excel"
    )


def _chunks(lines: "_Lines", name: str) -> Iterator[Chunk]:
    reader = csv.reader(lines, delimiter=lines.delimiter, strict=True)
    gathered = _Gathered(_header(reader, name), name, lines.delimiter)
    lines.row_characters = 0
    for row in reader:
        gathered.add(row, reader.line_num + lines.skipped, lines)
        lines.row_characters = 0
        if gathered.is_full:
            yield gathered.take()
    yield gathered.take()


def _header(rows: Iterator[list[str]], name: str) -> list[str]:
    header = next(rows, None)
    if header is None:
        raise UnreadableSourceError(f"{name} is empty")
    tables.require_width(len(header), name)
    if len(set(header)) != len(header):
        raise UnreadableSourceError(f"{name} has two columns of one name; rename one")
    return header


class _Lines:
    """Lines of a text, of which the latest is kept; `row_characters` counts those of the row at hand.

    A first line such as `sep=;`, which is Excel's, is `skipped` and tells the delimiter.
    """

    def __init__(self, text: TextIOWrapper, name: str) -> None:
        self._text = text
        self._name = name
        self.latest = ""
        self.row_characters = 0
        self._first = text.readline(ROW_CHARACTERS + 1)
        if "\0" in self._first:
            raise _of_another_encoding(name)
        told = _SEPARATOR.match(self._first)
        self.skipped = int(told is not None)
        if told:
            self._first = text.readline(ROW_CHARACTERS + 1)
        self.delimiter = told[1] if told else _delimiter(self._first)

    def _next(self) -> str:
        first, self._first = self._first, ""
        return first or self._text.readline(ROW_CHARACTERS + 1 - self.row_characters)

    def __iter__(self) -> Iterator[str]:
        while line := self._next():
            self.row_characters += len(line)
            if self.row_characters > ROW_CHARACTERS:
                raise UnreadableSourceError(
                    f"{self._name} has a row of more than {ROW_CHARACTERS:,} characters; is it CSV?"
                )
            self.latest = line
            yield line


class _Gathered:
    """Rows of the chunk at hand."""

    def __init__(self, header: list[str], name: str, delimiter: str) -> None:
        self._header = header
        self._name = name
        self._delimiter = delimiter
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
            _text_frame(self._header, self._rows, self._numbers),
            tuple(self._bad),
            table=self._name,
            delimiter=self._delimiter,
        )
        self._begin()
        return chunk


def _delimiter(header: str) -> str:
    """Find the delimiter of the line of names, outside of quotes."""
    unquoted = _QUOTED.sub("", header)
    return max(DELIMITERS, key=unquoted.count)


def _text_frame(header: list[str], rows: list[list[str]], lines: list[int]) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    texts = {
        name: pl.Series(name, values, dtype=pl.String) for name, values in zip(header, columns, strict=True)
    }
    return pl.DataFrame(texts).with_columns(pl.Series(LINE, lines, dtype=pl.Int64))
