"""Files are read in chunks, and a bad row is named by its line."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.imports import tables
from pipeline.imports.tables import (
    LINE,
    BadRow,
    UnreadableFileError,
    columns_of,
    read_chunks,
    read_files,
    read_whole,
)


def a_file(folder: Path, text: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_each_row_keeps_the_line_it_ends_on(tmp_path: Path) -> None:
    path = a_file(tmp_path, 'a,b\n1,"two\nlines"\n3,4\n')
    (chunk,) = read_chunks(path)
    assert chunk.rows[LINE].to_list() == [3, 4]
    assert chunk.rows["b"].to_list() == ["two\nlines", "4"]


def test_a_row_with_too_many_or_too_few_fields_is_named_and_the_rest_read(tmp_path: Path) -> None:
    path = a_file(tmp_path, "a,b\n1,2\n1,2,3\n\n4\n5,6\n")
    (chunk,) = read_chunks(path)
    assert chunk.rows["a"].to_list() == ["1", "5"]
    assert chunk.bad_rows == (
        BadRow(3, "has 3 fields where the header has 2", "rows.csv"),
        BadRow(5, "has 1 fields where the header has 2", "rows.csv"),
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
    assert chunk.rows.schema == {LINE: pl.Int64, "a": pl.Int64, "b": pl.Boolean}


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


def test_a_file_of_bad_rows_alone_comes_in_chunks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    path = a_file(tmp_path, "a,b\n" + "1\n" * 25)
    assert [len(chunk.bad_rows) for chunk in read_chunks(path)] == [10, 10, 5]


def test_a_column_named_line_is_a_column_like_any_other(tmp_path: Path) -> None:
    csv = a_file(tmp_path, "line,b\nx,1\n")
    parquet = tmp_path / "rows.parquet"
    pl.DataFrame({"line": ["x"], "b": [1]}).write_parquet(parquet)
    for path in (csv, parquet):
        (chunk,) = read_chunks(path)
        assert chunk.rows["line"].to_list() == ["x"]
        assert columns_of(path) == ["line", "b"]


def test_several_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    paths = [a_file(tmp_path, "a\n1\n", "one.csv"), a_file(tmp_path, "a\n2\n3\n", "two.csv")]
    chunks = list(read_files(paths))
    assert [(chunk.path.name, chunk.rows["a"].to_list()) for chunk in chunks] == [
        ("one.csv", ["1"]),
        ("two.csv", ["2", "3"]),
    ]
    assert chunks[-1].bytes_read == sum(path.stat().st_size for path in paths)


def test_a_file_that_changes_while_it_is_read_says_so(tmp_path: Path) -> None:
    path = a_file(tmp_path, "a\n1\n")
    chunks = read_files([path])
    next(chunks)
    path.write_text("a\n1\n2\n")
    with pytest.raises(UnreadableFileError, match="changed while it was read"):
        next(chunks)
