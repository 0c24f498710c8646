"""Loads of acknowledged events: at a restart, after failures, and together with batches."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest

from pipeline.disk_space import DiskFullError
from pipeline.ingest import loader as loaders
from pipeline.ingest.errors import OverloadedError
from pipeline.ingest.ingest import Ingest
from pipeline.ingest.loader import Loader
from pipeline.settings import Settings
from pipeline.store.spool.segments import segment_paths
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.ingest.event_rows import a_row, stored
from tests.waiting import wait_until


@contextmanager
def an_ingest(folder: Path, **settings: int) -> Iterator[tuple[Ingest, Warehouse]]:
    chosen = Settings.model_validate({"data_dir": folder, **settings})
    warehouse = Warehouse.open(chosen)
    ingest = Ingest(warehouse, chosen)
    ingest.start()
    try:
        yield ingest, warehouse
    finally:
        ingest.stop()
        warehouse.close()


def send(ingest: Ingest, *event_ids: str, project: str = "prj_1") -> None:
    async def submit_each() -> None:
        await asyncio.gather(*(ingest.submit(project, [a_row(event_id)]) for event_id in event_ids))

    asyncio.run(submit_each())


@contextmanager
def no_loads(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail every transaction, as a full disk does."""

    def refuse() -> None:
        raise DiskFullError("the disk is full")

    with monkeypatch.context() as refused:
        refused.setattr(warehouse, "transaction", refuse)
        yield


def killed_copy(folder: Path, monkeypatch: pytest.MonkeyPatch, *event_ids: str) -> Path:
    """Copy a store as a kill leaves it: with events that are acknowledged and not loaded."""
    with an_ingest(folder / "open") as (ingest, warehouse):
        send(ingest, "loaded")
        assert ingest.load()
        with no_loads(warehouse, monkeypatch):
            send(ingest, *event_ids)
            return Path(shutil.copytree(folder / "open", folder / "killed"))


def test_what_a_killed_process_acknowledged_is_loaded_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = killed_copy(tmp_path, monkeypatch, "a", "b", "c")
    with an_ingest(folder) as (ingest, warehouse):
        assert count_by_type(warehouse, "prj_1") == {"exposure": 4}
        assert ingest.last_seq_of("prj_1") == ingest.last_loaded_seq_of("prj_1") == 4
        send(ingest, "d")
        assert [seq for seq, _ in stored(ingest, warehouse)] == [1, 2, 3, 4, 5]
    assert segment_paths(folder / "spool") == {}
    with an_ingest(folder) as (ingest, warehouse):
        assert len(stored(ingest, warehouse)) == 5


def test_a_spool_whose_events_are_loaded_already_loads_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = killed_copy(tmp_path, monkeypatch, "a", "b")
    spool = shutil.copytree(folder / "spool", tmp_path / "spool")
    with an_ingest(folder):
        pass
    # As after a kill between the load and the removal of the files.
    shutil.copytree(spool, folder / "spool")
    with an_ingest(folder) as (ingest, warehouse):
        assert len(stored(ingest, warehouse)) == 3
        send(ingest, "c")
        assert [seq for seq, _ in stored(ingest, warehouse)] == [1, 2, 3, 4]


def test_a_spool_that_cannot_be_loaded_at_the_start_is_loaded_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = killed_copy(tmp_path, monkeypatch, "a", "b")
    settings = Settings(data_dir=folder)
    warehouse = Warehouse.open(settings)
    ingest = Ingest(warehouse, settings)
    with no_loads(warehouse, monkeypatch):
        ingest.start()
        send(ingest, "c")
        assert ingest.last_seq_of("prj_1") == 4
        assert ingest.last_loaded_seq_of("prj_1") == 1
        assert not ingest.load(60)
    wait_until(ingest.load)
    assert [seq for seq, _ in stored(ingest, warehouse)] == [1, 2, 3, 4]
    ingest.stop()
    warehouse.close()


def test_events_are_acknowledged_while_none_can_be_loaded_until_the_spool_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with an_ingest(tmp_path, spool_bytes=20_000) as (ingest, warehouse):
        with no_loads(warehouse, monkeypatch):
            sent = 0
            with suppress(OverloadedError):
                while sent < 10_000:
                    send(ingest, f"e{sent}")
                    sent += 1
            assert 50 < sent < 10_000
        wait_until(ingest.load)
        send(ingest, "after")
        assert len(stored(ingest, warehouse)) == sent + 1


def test_a_stop_that_cannot_load_leaves_the_events_to_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=tmp_path)
    warehouse = Warehouse.open(settings)
    ingest = Ingest(warehouse, settings)
    ingest.start()
    with no_loads(warehouse, monkeypatch):
        send(ingest, "a", "b")
        ingest.stop()
    warehouse.close()
    assert len(segment_paths(tmp_path / "spool")) == 1
    with an_ingest(tmp_path) as (ingest, warehouse):
        assert sorted(event_id for _, event_id in stored(ingest, warehouse)) == ["a", "b"]


def test_a_batch_comes_after_what_was_acknowledged_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaders, "GATHER_SECONDS", 60)
    with an_ingest(tmp_path) as (ingest, warehouse):
        send(ingest, "a")
        ingest.write_now("prj_1", events.to_batch([a_row("b"), a_row("c")]))
        # Nothing is in the warehouse that has a larger number than what is not.
        assert count_by_type(warehouse, "prj_1") == {"exposure": 3}
        send(ingest, "d")
        assert stored(ingest, warehouse) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_a_reader_never_finds_a_number_before_all_smaller_ones(tmp_path: Path) -> None:
    has_ended = threading.Event()

    def write_batches(ingest: Ingest) -> None:
        while not has_ended.is_set():
            ingest.write_now("prj_1", events.to_batch([a_row()] * 5))

    with an_ingest(tmp_path) as (ingest, warehouse):
        writer = threading.Thread(target=write_batches, args=(ingest,))
        writer.start()
        try:
            for number in range(30):
                send(ingest, *(f"e{number}-{one}" for one in range(20)))
                if number % 3 == 0:
                    assert ingest.load()
                with warehouse.cursor() as cursor:
                    query = "SELECT count(*), max(seq) FROM events_prj_1"
                    rows = cursor.execute(query).fetchall() if number else [(0, 0)]
                assert rows[0][0] == rows[0][1]
        finally:
            has_ended.set()
            writer.join()


def test_events_of_a_deleted_project_that_wait_are_deleted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaders, "GATHER_SECONDS", 60)
    with an_ingest(tmp_path) as (ingest, warehouse):
        send(ingest, "a", "b")
        send(ingest, "kept", project="prj_2")
        ingest.forget("prj_1")
        assert ingest.load()
        assert events.stored_projects(warehouse) == ["prj_2"]
        assert ingest.last_seq_of("prj_1") == ingest.last_loaded_seq_of("prj_1") == 0
    with an_ingest(tmp_path) as (ingest, warehouse):
        send(ingest, "new")
        assert stored(ingest, warehouse) == [(4, "new")]


def test_an_event_that_no_table_takes_is_set_aside_and_keeps_no_other_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It has an encoding, and no place in a column of whole numbers.
    poison = a_row("poison")._replace(received_at=2**63)
    with an_ingest(tmp_path) as (ingest, warehouse):
        with monkeypatch.context() as slow:
            slow.setattr(loaders, "GATHER_SECONDS", 60)
            send(ingest, "a")
            asyncio.run(ingest.submit("prj_1", [a_row("with the poison"), poison]))
            asyncio.run(ingest.submit("prj_2", [a_row("b")]))
        send(ingest, "c")
        assert [event_id for _, event_id in stored(ingest, warehouse)] == ["a", "c"]
        assert [event_id for _, event_id in stored(ingest, warehouse, "prj_2")] == ["b"]
    (refused,) = (tmp_path / "refused-events").iterdir()
    assert "with the poison" in refused.read_text()


def test_a_lack_of_memory_sets_no_event_aside(tmp_path: Path) -> None:
    with an_ingest(tmp_path) as (ingest, warehouse):
        with warehouse.cursor() as cursor:
            used = cursor.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchall()[0][0]
            # Less than one block more.
            cursor.execute(f"SET GLOBAL memory_limit = '{used + 2**17} bytes'")
        send(ingest, "a", "b")
        assert not ingest.load(5)
        with warehouse.cursor() as cursor:
            cursor.execute("SET GLOBAL memory_limit = '1GB'")
        wait_until(ingest.load)
        assert [event_id for _, event_id in stored(ingest, warehouse)] == ["a", "b"]
    assert not (tmp_path / "refused-events").exists()


def test_a_load_that_takes_too_long_is_not_waited_for(tmp_path: Path) -> None:
    with an_ingest(tmp_path) as (ingest, warehouse):
        send(ingest, "a")
        assert ingest.load()
        with ingest._loader._loading:  # noqa: SLF001 - as a long load holds it
            send(ingest, "b")
            assert not ingest.load(0)
            assert not ingest.load(0.01)
        assert ingest.load()
        assert len(stored(ingest, warehouse)) == 2


def test_the_spool_is_full_beyond_its_bytes_and_not_at_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with an_ingest(tmp_path, spool_bytes=1000) as (ingest, _):
        for waiting, is_taken in ((1000, True), (1001, False)):
            monkeypatch.setattr(Loader, "backlog_bytes", waiting)
            with nullcontext() if is_taken else pytest.raises(OverloadedError):
                send(ingest, f"e{waiting}")
