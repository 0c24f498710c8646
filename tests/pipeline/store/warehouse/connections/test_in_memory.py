"""Databases in memory: what exceeds the memory is in a folder, and nothing is left there."""

from pathlib import Path

import pytest

from pipeline.store.warehouse.connections.in_memory import in_memory


def test_tables_beyond_the_memory_are_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUELIFT_DUCKDB_MEMORY_LIMIT", "16MB")
    with in_memory(tmp_path) as cursor:
        # Numbers that do not compress: 24 MB of them.
        cursor.execute("CREATE TABLE keys AS SELECT hash(i) AS key FROM range(3_000_000) t(i)")
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) > 2_000_000
        assert cursor.execute("SELECT count(*), count(DISTINCT key % 7) FROM keys").fetchall() == [
            (3_000_000, 7)
        ]
    assert list(tmp_path.iterdir()) == []
