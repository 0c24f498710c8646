"""Files are read in chunks, and a bad row is named by its line."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from pipeline.sources import tables
from pipeline.sources.disk_files import FileTable
from pipeline.sources.tables import LINE, BadRow, Chunk, UnreadableSourceError, read_tables


def read_chunks(path: Path) -> Iterator[Chunk]:
    return FileTable(path, path.name).read()


def columns_of(path: Path) -> list[str]:
    return next(read_chunks(path)).rows.drop(LINE).columns


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


@pytest.mark.parametrize("end", ["4", '4,"'])
def test_a_file_that_breaks_off_in_a_row_is_refused(tmp_path: Path, end: str) -> None:
    path = a_file(tmp_path, f"a,b\n1,2\n{end}")
    with pytest.raises(UnreadableSourceError, match=r"rows.csv (breaks off in line 3|cannot be read)"):
        list(read_chunks(path))


def test_a_last_row_without_a_line_end_is_whole(tmp_path: Path) -> None:
    (chunk,) = read_chunks(a_file(tmp_path, "a,b\n1,2\n3,4"))
    assert chunk.rows["b"].to_list() == ["2", "4"]


def test_a_long_file_comes_in_chunks_that_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    path = a_file(tmp_path, "a\n" + "".join(f"{number}\n" for number in range(25)))
    chunks = list(read_chunks(path))
    assert [chunk.rows.height for chunk in chunks] == [10, 10, 5]
    assert pl.concat(chunk.rows for chunk in chunks)["a"].to_list() == [str(number) for number in range(25)]
    assert chunks[-1].done == path.stat().st_size


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_chunks_of_a_wide_file_have_fewer_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(tables, "CHUNK_CELLS", 20)
    path, rows = tmp_path / f"rows.{suffix}", pl.DataFrame({name: range(12) for name in "abcd"})
    (rows.write_csv if suffix == "csv" else rows.write_parquet)(path)
    chunks = list(read_chunks(path))
    assert max(chunk.rows.height for chunk in chunks) == 5
    assert pl.concat(chunk.rows for chunk in chunks)[LINE].len() == 12


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_of_too_many_columns_says_so(tmp_path: Path, suffix: str) -> None:
    path, rows = tmp_path / f"rows.{suffix}", pl.DataFrame({f"c{number}": [1] for number in range(2_001)})
    (rows.write_csv if suffix == "csv" else rows.write_parquet)(path)
    with pytest.raises(UnreadableSourceError, match=r"has 2,001 columns, more than the 2,000"):
        list(read_chunks(path))


def test_a_chunk_of_long_rows_ends_at_its_characters(tmp_path: Path) -> None:
    path = a_file(tmp_path, "a,b\n" + f"{'x' * 100_000},y\n" * 200)
    assert [chunk.rows.height for chunk in read_chunks(path)] == [168, 32]


@pytest.mark.parametrize("row", ["x" * 2**20, '"x\nx",' * 2**17], ids=["one line", "several lines"])
def test_a_row_that_does_not_end_is_refused_before_it_is_held(tmp_path: Path, row: str) -> None:
    path = a_file(tmp_path, "a\n" + row * 6)
    with pytest.raises(UnreadableSourceError, match=r"a row of more than 4,194,304 characters"):
        list(read_chunks(path))


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
        ("rows.csv", b"a\n\xff\xfe\n", "is no text in UTF-8"),
        ("rows.csv", b'a\n"never closed\n', "cannot be read"),
        ("rows.parquet", b"not parquet", "cannot be read"),
    ],
)
def test_an_unreadable_file_says_why(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnreadableSourceError, match=why):
        list(read_chunks(path))


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError, match="there is no file"):
        columns_of(tmp_path / "nowhere.csv")


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
    chunks = list(read_tables([FileTable(path, path.name) for path in paths]))
    assert [(chunk.table, chunk.rows["a"].to_list()) for chunk in chunks] == [
        ("one.csv", ["1"]),
        ("two.csv", ["2", "3"]),
    ]
    assert chunks[-1].done == sum(path.stat().st_size for path in paths)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_file_that_changes_while_it_is_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    path = tmp_path / name
    write = pl.DataFrame.write_csv if name.endswith("csv") else pl.DataFrame.write_parquet
    write(pl.DataFrame({"a": range(25)}), path)
    chunks = read_chunks(path)
    next(chunks)
    # Replaced, as by a program that writes a file aside and moves it.
    write(pl.DataFrame({"a": range(50)}), tmp_path / "new")
    (tmp_path / "new").rename(path)
    with pytest.raises(UnreadableSourceError, match="changed while it was read"):
        list(chunks)


def test_a_file_without_rows_has_columns_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"a": []}, schema={"a": pl.Int64}).write_parquet(path)
    assert columns_of(path) == ["a"]
    assert columns_of(a_file(tmp_path, "a,b\n")) == ["a", "b"]
