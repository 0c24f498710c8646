"""Files are read in chunks, and a bad row is named by its line."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.imports import tables
from pipeline.imports.tables import (
    BadRow,
    UnreadableFileError,
    columns_of,
    read_chunks,
    read_whole,
)


def a_file(folder: Path, text: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_each_row_keeps_the_line_it_ends_on(tmp_path: Path) -> None:
    path = a_file(tmp_path, 'a,b\n1,"two\nlines"\n3,4\n')
    (chunk,) = read_chunks(path)
    assert chunk.rows["line"].to_list() == [3, 4]
    assert chunk.rows["b"].to_list() == ["two\nlines", "4"]


def test_a_row_with_too_many_or_too_few_fields_is_named_and_the_rest_read(tmp_path: Path) -> None:
    path = a_file(tmp_path, "a,b\n1,2\n1,2,3\n\n4\n5,6\n")
    (chunk,) = read_chunks(path)
    assert chunk.rows["a"].to_list() == ["1", "5"]
    assert chunk.bad_rows == (
        BadRow(3, "has 3 fields where the header has 2"),
        BadRow(5, "has 1 fields where the header has 2"),
    )


def test_a_long_file_comes_in_chunks_that_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    path = a_file(tmp_path, "a\n" + "".join(f"{number}\n" for number in range(25)))
    chunks = list(read_chunks(path))
    assert [chunk.rows.height for chunk in chunks] == [10, 10, 5]
    assert pl.concat(chunk.rows for chunk in chunks)["a"].to_list() == [str(number) for number in range(25)]
    assert chunks[-1].bytes_read == path.stat().st_size


def test_parquet_is_read_with_its_types(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"a": [1, 2], "b": [True, False]}).write_parquet(path)
    (chunk,) = read_chunks(path)
    assert chunk.rows.schema == {"line": pl.Int64, "a": pl.Int64, "b": pl.Boolean}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("rows.xlsx", b"PK", r"neither \.csv nor \.parquet"),
        ("rows.csv", b"", "is empty"),
        ("rows.csv", b"a,a\n1,2\n", "two columns of one name"),
        ("rows.csv", b"a\n\xff\xfe\n", "cannot be read"),
        ("rows.csv", b'a\n"never closed\n', "cannot be read"),
        ("rows.parquet", b"not parquet", "cannot be read"),
    ],
)
def test_an_unreadable_file_says_why(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=why):
        list(read_chunks(path))


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="there is no file"):
        columns_of(tmp_path / "nowhere.csv")


def test_the_whole_file_is_typed_by_all_its_rows(tmp_path: Path) -> None:
    rows = "".join(f"{number},2026-01-02 03:04:05\n" for number in range(2_000))
    path = a_file(tmp_path, f"id,at\n{rows}x,2026-01-02 03:04:05\n")
    frame = read_whole(path, times=["at"])
    assert frame.schema == {"id": pl.String, "at": pl.Datetime("us", "UTC")}
