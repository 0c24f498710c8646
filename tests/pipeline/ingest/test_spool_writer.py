"""Spool writer: the queue, shared writes, syncs and the end."""

import asyncio
import os
import threading
from pathlib import Path

import polars as pl
import pytest

from pipeline.ingest.errors import OverloadedError
from pipeline.ingest.ingest import Ingest
from pipeline.ingest.spool_writer import SHARED_WRITE
from pipeline.settings import Settings
from pipeline.store.spool import spool as spools
from pipeline.store.spool.spool import Place, Spool
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Cursor, Warehouse
from tests.pipeline.ingest.event_rows import a_row, stored
from tests.pipeline.ingest.running_ingest import a_held_writer, queued, running, submit_all


async def refusal_of_a_huge_request(ingest: Ingest) -> str:
    with pytest.raises(OverloadedError) as refused:
        await ingest.submit("prj_1", [a_row("late")], 10**12)
    return str(refused.value)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The last sequence number of each write of the spool."""
    writes, append = list[int](), Spool.append

    def recorded_append(spool: Spool, first_seq: int, last_seq: int, payload: bytes) -> Place:
        writes.append(last_seq)
        return append(spool, first_seq, last_seq, payload)

    monkeypatch.setattr(Spool, "append", recorded_append)
    return writes


def test_requests_that_arrive_during_a_write_share_the_next(
    ingest: Ingest, warehouse: Warehouse, writes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    commits, transaction = list[int](), warehouse.transaction

    def counted_transaction() -> object:
        commits.append(len(writes))
        return transaction()

    monkeypatch.setattr(warehouse, "transaction", counted_transaction)
    asyncio.run(submit_all(ingest, *[("prj_1", [a_row(f"e{number}")]) for number in range(200)]))
    assert len(stored(ingest, warehouse)) == 200
    assert 1 <= len(writes) < 20
    assert 1 <= len(commits) < 10


def test_requests_that_the_event_loop_reads_at_once_share_a_write(ingest: Ingest, writes: list[int]) -> None:
    requests = [("prj_1", [a_row(f"e{number}")]) for number in range(SHARED_WRITE - 1)]
    asyncio.run(submit_all(ingest, *requests))
    assert writes == [len(requests)]


def test_at_most_so_many_rows_share_a_commit(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heights = list[int]()
    append = events.append

    def counted_append(cursor: Cursor, project_id: str, table: pl.DataFrame) -> None:
        heights.append(table.height)
        append(cursor, project_id, table)

    monkeypatch.setattr(events, "append", counted_append)
    with running(warehouse, Settings(data_dir=tmp_path, ingest_commit_rows=10)) as ingest:
        asyncio.run(
            submit_all(ingest, *[("prj_1", [a_row()] * 7) for _ in range(5)], ("prj_1", [a_row()] * 25))
        )
        assert len(stored(ingest, warehouse)) == 60
    # A request stays whole, whatever its size.
    assert sorted(heights) == [7] * 5 + [25]


def test_a_full_queue_refuses_and_says_when_to_come_back(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(warehouse, Settings(data_dir=tmp_path, ingest_queue_bytes=3000)) as ingest:

        async def fill() -> list[BaseException | None]:
            with a_held_writer(monkeypatch) as writer:
                waiting = await queued(*(ingest.submit("prj_1", [a_row()], 1000) for _ in range(3)))
                with pytest.raises(OverloadedError) as refused:
                    await ingest.submit("prj_1", [a_row("refused")], 1000)
                assert refused.value.retry_after >= 1
                writer.release.set()
                return await asyncio.gather(*waiting, return_exceptions=True)

        assert asyncio.run(fill()) == [None] * 3
        asyncio.run(ingest.submit("prj_1", [a_row("later")], 1000))
    assert [event_id for _, event_id in stored(ingest, warehouse)] == ["e1", "e1", "e1", "later"]


def test_one_request_larger_than_the_queue_passes_when_it_is_empty(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    with running(warehouse, Settings(data_dir=tmp_path, ingest_queue_bytes=1)) as ingest:
        asyncio.run(ingest.submit("prj_1", [a_row()], 1000))
    assert len(stored(ingest, warehouse)) == 1


# A key that no 64 bits hold: what a row would be that slipped past every check.
def test_stopping_writes_what_waits_and_refuses_what_comes(
    warehouse: Warehouse, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = Ingest(warehouse, settings)
    ingest.start()

    async def stop_meanwhile() -> None:
        with a_held_writer(monkeypatch) as writer:
            waiting = await queued(*(ingest.submit("prj_1", [a_row()]) for _ in range(5)))
            stopping = asyncio.create_task(asyncio.to_thread(ingest.stop))
            async with asyncio.timeout(30):
                # Refused either way: before for its size, then because the service is stopping.
                while "stopping" not in await refusal_of_a_huge_request(ingest):
                    await asyncio.to_thread(lambda: None)
            writer.release.set()
            await asyncio.gather(stopping, *waiting)

    asyncio.run(stop_meanwhile())
    assert [event_id for _, event_id in stored(ingest, warehouse)] == ["e1"] * 5


def test_a_cancelled_request_is_stored(ingest: Ingest, warehouse: Warehouse) -> None:
    async def leave() -> None:
        leaving = asyncio.create_task(ingest.submit("prj_1", [a_row("left")]))
        await asyncio.sleep(0)
        leaving.cancel()
        await ingest.submit("prj_1", [a_row("stayed")])

    asyncio.run(leave())
    assert [event_id for _, event_id in stored(ingest, warehouse)] == ["left", "stayed"]


def test_nothing_is_acknowledged_before_it_is_synced(ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    synced, has_begun, release = list[int](), threading.Event(), threading.Event()

    def held_sync(descriptor: int) -> None:
        has_begun.set()
        release.wait(30)
        os.fsync(descriptor)
        synced.append(descriptor)

    async def submit() -> None:
        waiting = await queued(*(ingest.submit("prj_1", [a_row(f"e{number}")]) for number in range(3)))
        assert await asyncio.to_thread(has_begun.wait, 30)
        assert not any(one.done() for one in waiting)
        release.set()
        await asyncio.gather(*waiting)
        # The header of the file, and one record for all three.
        assert len(synced) >= 2

    monkeypatch.setattr(spools, "_sync_data", held_sync)
    asyncio.run(submit())
