"""Tables are one typed frame, for an analysis without a store."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipeline.sources.locations import find_tables
from pipeline.sources.tables import UnreadableSourceError
from pipeline.sources.whole_tables import scan_whole
from pipeline.store.source_databases.queries import Query


def a_file(folder: Path, text: str, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_whole_file_is_typed_by_all_its_rows(tmp_path: Path) -> None:
    rows = "".join(f"{number},2026-01-02 03:04:05\n" for number in range(2_000))
    path = a_file(tmp_path, f"id,at\n{rows}x,2026-01-02 03:04:05\n")
    frame = scan_whole(find_tables([str(path)]), times=["at"]).collect()
    assert frame.schema == {"id": pl.String, "at": pl.Datetime("us", "UTC")}


def test_several_files_are_one_typed_frame(tmp_path: Path) -> None:
    paths = [
        str(one) for one in (a_file(tmp_path, "a\n1\n", "one.csv"), a_file(tmp_path, "a\n2.5\n", "two.csv"))
    ]
    assert scan_whole(find_tables(paths)).collect()["a"].to_list() == [1.0, 2.5]
    other = str(a_file(tmp_path, "b\n1\n", "three.csv"))
    with pytest.raises(UnreadableSourceError, match=r"different columns or types: schema names .* b$"):
        scan_whole(find_tables([*paths, other]))


def test_a_database_is_a_typed_frame_too(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE orders AS SELECT range AS id FROM range(3)")
    frame = scan_whole(find_tables([str(path)], query=Query(table="orders"))).collect()
    assert frame["id"].to_list() == [0, 1, 2]


def test_rows_whose_wanted_columns_are_all_in_the_names_of_folders_stay(tmp_path: Path) -> None:
    for variant, visitors in {"A": 2, "B": 3}.items():
        folder = tmp_path / f"variant={variant}" / "converted=1"
        folder.mkdir(parents=True)
        pl.DataFrame({"order": range(visitors)}).write_parquet(folder / "rows.parquet")
    frame = scan_whole(find_tables([str(tmp_path)]), columns=["variant", "converted"]).collect()
    assert sorted(frame["variant"]) == ["A"] * 2 + ["B"] * 3
