"""What a snapshot holds, and what lies beside it."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl


def manifest_of(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())


def files_in(folder: Path) -> set[str]:
    """Every file, by its path within the folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def named_in(folder: Path) -> set[str]:
    """Every file that the manifest names, the manifest included, retired ones aside."""
    manifest = manifest_of(folder)
    results = [one[kind] for one in manifest["experiments"] for kind in ("visitors", "orders", "aggregates")]
    return {"manifest.json", *(file["path"] for file in [*manifest["events"], *results])}


def rows_of(folder: Path, files: list[dict[str, Any]], columns: str = "*") -> list[tuple[Any, ...]]:
    """Rows of some of a snapshot's files, as another engine reads them."""
    paths = [str(folder / file["path"]) for file in files]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    found = connection.sql(f"SELECT {columns} FROM read_parquet(?)", params=[paths])  # noqa: S608 (ours)
    rows = pl.DataFrame(found).rows()
    connection.close()
    return rows


def assert_whole(folder: Path) -> Any:
    """All that the manifest names is there, of the size and with the rows that it says; returns it."""
    manifest = manifest_of(folder)
    for one in manifest["experiments"]:
        for kind in ("visitors", "orders", "aggregates"):
            assert_as_said(folder, one[kind])
    for file in manifest["events"]:
        assert_as_said(folder, file)
        assert rows_of(folder, [file], "min(seq), max(seq)") == [(file["first_seq"], file["last_seq"])]
    return manifest


def assert_as_said(folder: Path, file: dict[str, Any]) -> None:
    assert (folder / file["path"]).stat().st_size == file["bytes"]
    digest = hashlib.sha256((folder / file["path"]).read_bytes()).hexdigest()
    # A manifest of before digests has none.
    assert file.get("sha256", digest) == digest
    assert rows_of(folder, [file], "count(*)") == [(file["rows"],)]


def without_digests(folder: Path) -> None:
    """Make the manifest that of a version which wrote no digests."""
    manifest = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(re.sub(r',\s*"(sha256|blake2b)": "[0-9a-f]+"', "", manifest))
    assert "sha256" not in (folder / "manifest.json").read_text()
