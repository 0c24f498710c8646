"""CSV and Parquet files, read in chunks with the line of each row."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import TextIOWrapper
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

CHUNK_ROWS = 50_000
# Column of the line numbers; its name is none that a file is likely to have.
LINE: Final = "(line)"


class UnreadableFileError(Exception):
    """A file that is missing, of another format, or broken."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that is not imported: its line in the file of that name, counted from 1, and the reason."""

    line: int
    reason: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a file: `rows` has a column `LINE`; `bytes_read` is the progress through the file."""

    rows: pl.DataFrame
    bad_rows: tuple[BadRow, ...] = ()
    bytes_read: int = 0
    path: Path = Path()


class FileState(NamedTuple):
    """State of a file: its size in bytes, the time of its last change (ns since 1970), and its inode."""

    size: int
    changed_ns: int
    inode: int


def read_chunks(path: Path) -> Iterator[Chunk]:
    """Read a CSV file (as text) or a Parquet file (as typed), in chunks of at most 50,000 rows.

    Raises:
        UnreadableFileError: the file is missing, of another kind, or broken.
    """
    reader = _csv_chunks if _is_csv(path) else _parquet_chunks
    try:
        yield from reader(path)
    except (csv.Error, UnicodeDecodeError, pl.exceptions.PolarsError, OSError, ValueError) as broken:
        raise UnreadableFileError(f"{path.name} cannot be read: {broken}") from broken


def read_files(paths: Sequence[Path]) -> Iterator[Chunk]:
    """Read several files one after the other; `bytes_read` counts through all of them.

    Raises:
        UnreadableFileError: one of them cannot be read, or changes while it is read.
    """
    bytes_before = 0
    for path in paths:
        state = state_of(path)
        for chunk in read_chunks(path):
            yield replace(chunk, bytes_read=bytes_before + chunk.bytes_read)
        if state_of(path) != state:
            raise UnreadableFileError(
                f"{path.name} changed while it was read; import it again once it is complete "
                "(its rows that are stored already are not counted twice)"
            )
        bytes_before += state.size


def columns_of(path: Path) -> list[str]:
    """List the names of a file's columns; UnreadableFileError for a file without rows."""
    first = next(read_chunks(path), None)
    if first is None:
        raise UnreadableFileError(f"{path.name} holds no row")
    return [name for name in first.rows.columns if name != LINE]


def _csv_chunks(path: Path) -> Iterator[Chunk]:
    with path.open("rb") as raw, TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        header = next(reader, None)
        if header is None:
            raise UnreadableFileError(f"{path.name} is empty")
        if len(set(header)) != len(header):
            raise UnreadableFileError(f"{path.name} has two columns of one name; rename one")
        rows: list[list[str]] = []
        lines: list[int] = []
        bad: list[BadRow] = []
        for row in reader:
            if len(row) == len(header):
                rows.append(row)
                lines.append(reader.line_num)
            elif row:
                fault = f"has {len(row)} fields where the header has {len(header)}"
                bad.append(BadRow(reader.line_num, fault, path.name))
            if len(rows) + len(bad) == CHUNK_ROWS:
                yield Chunk(_text_frame(header, rows, lines), tuple(bad), raw.tell(), path)
                rows, lines, bad = [], [], []
        yield Chunk(_text_frame(header, rows, lines), tuple(bad), path.stat().st_size, path)


def _text_frame(header: list[str], rows: list[list[str]], lines: list[int]) -> pl.DataFrame:
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    texts = {
        name: pl.Series(name, values, dtype=pl.String) for name, values in zip(header, columns, strict=True)
    }
    return pl.DataFrame(texts).with_columns(pl.Series(LINE, lines, dtype=pl.Int64))


def _parquet_chunks(path: Path) -> Iterator[Chunk]:
    size = path.stat().st_size
    file = pl.scan_parquet(path, glob=False)
    total = file.select(pl.len()).collect().item()
    done = 0
    for batch in file.collect_batches(chunk_size=CHUNK_ROWS):
        frame = batch.with_row_index(LINE, offset=done + 1).cast({LINE: pl.Int64})
        done += frame.height
        yield Chunk(rows=frame, bytes_read=size * done // max(total, 1), path=path)


def read_whole(path: Path, *, times: Sequence[str] = ()) -> pl.DataFrame:
    """Read a file as one typed frame; the columns in `times` are read as UTC times.

    Raises:
        UnreadableFileError: the file is missing, of another kind, or broken.
    """
    is_csv = _is_csv(path)
    try:
        # The type of a column follows from every row: ids that are numbers but for the last line stay text.
        frame = pl.read_csv(path, infer_schema_length=None) if is_csv else pl.read_parquet(path)
        text = [name for name in times if frame.schema.get(name) == pl.String]
        return frame.with_columns(pl.col(text).str.to_datetime(time_unit="us", time_zone="UTC"))
    except (pl.exceptions.PolarsError, OSError) as broken:
        raise UnreadableFileError(f"{path.name} cannot be read: {broken}") from broken


def state_of(path: Path) -> FileState:
    """Return the state of a file; UnreadableFileError for a missing one."""
    _require_file(path)
    status = path.stat()
    return FileState(status.st_size, status.st_mtime_ns, status.st_ino)


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise UnreadableFileError(f"there is no file {path}")


def _is_csv(path: Path) -> bool:
    _require_file(path)
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".parquet"}:
        raise UnreadableFileError(f"{path.name} is neither .csv nor .parquet; convert it to one of the two")
    return suffix == ".csv"
