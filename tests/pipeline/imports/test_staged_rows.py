"""Rows wait on disk until all of them are known to be usable."""

import polars as pl
import pytest

from pipeline.disk_space import DiskFullError
from pipeline.imports.staged_rows import StagedChunk, staged_rows
from tests.pipeline.working_store import WorkingStore


def test_chunks_come_back_in_order_and_are_removed_at_the_end(store: WorkingStore) -> None:
    chunks = [StagedChunk("a.csv", pl.DataFrame({"id": [n, None]}), n) for n in (1, 2, 3)]
    with staged_rows(store) as staged:
        for chunk in chunks:
            staged.add(chunk)
        for _ in range(2):
            assert [(one.table, one.rows.rows(), one.done) for one in staged] == [
                (one.table, one.rows.rows(), one.done) for one in chunks
            ]
    assert list((store.settings.staged_imports_path).iterdir()) == []


def test_columns_without_values_keep_their_types(store: WorkingStore) -> None:
    schema = pl.Schema([("id", pl.Int64), ("at", pl.Datetime("us", "UTC")), ("url", pl.String)])
    frames = [pl.DataFrame(rows, schema, orient="row") for rows in ([(1, None, "/")], [(None,) * 3] * 2, [])]
    with staged_rows(store) as staged:
        for frame in frames:
            staged.add(StagedChunk("a.csv", frame, 1))
        read = [chunk.rows for chunk in staged]
    assert [(one.schema, one.rows()) for one in read] == [(one.schema, one.rows()) for one in frames]


def test_a_full_disk_refuses_more_rows(store: WorkingStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*, more_bytes: int) -> None:
        raise DiskFullError(f"no room for {more_bytes} bytes")

    monkeypatch.setattr(store.warehouse, "require_space", full)
    with staged_rows(store) as staged, pytest.raises(DiskFullError):
        staged.add(StagedChunk("a.csv", pl.DataFrame({"id": [1]}), 1))
