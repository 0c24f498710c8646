import asyncio
import os
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.ingest.errors import NotStoredError, OverloadedError
from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.spool import spool as spools
from pipeline.store.spool.spool import Place, Spool
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Cursor, Warehouse
from pipeline.store.warehouse.events import EventRow
from tests.pipeline.full_disk import no_file_larger_than
from tests.pipeline.ingest.event_rows import a_row, stored


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture
def warehouse(settings: Settings) -> Iterator[Warehouse]:
    opened = Warehouse.open(settings)
    yield opened
    opened.close()


@pytest.fixture
def ingest(warehouse: Warehouse, settings: Settings) -> Iterator[Ingest]:
    with running(warehouse, settings) as started:
        yield started


@contextmanager
def running(warehouse: Warehouse, settings: Settings) -> Iterator[Ingest]:
    started = Ingest(warehouse, settings)
    started.start()
    try:
        yield started
    finally:
        started.stop()


async def submit_all(ingest: Ingest, *submitted: tuple[str, list[EventRow]]) -> list[BaseException | None]:
    return await asyncio.gather(
        *(ingest.submit(project_id, rows) for project_id, rows in submitted), return_exceptions=True
    )


@dataclass(frozen=True, slots=True)
class HeldWriter:
    """A writer that stays before its first write until `release` is set."""

    has_begun: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)


@contextmanager
def a_held_writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldWriter]:
    writer = HeldWriter()
    append = Spool.append

    def held_append(spool: Spool, first_seq: int, last_seq: int, payload: bytes) -> Place:
        writer.has_begun.set()
        writer.release.wait(30)
        return append(spool, first_seq, last_seq, payload)

    monkeypatch.setattr(Spool, "append", held_append)
    yield writer
    writer.release.set()


async def queued(*submissions: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
    """Start submissions; each is in the queue once its task has run to its first wait."""
    tasks = [asyncio.create_task(submission) for submission in submissions]
    await asyncio.sleep(0)
    return tasks


async def refusal_of_a_huge_request(ingest: Ingest) -> str:
    with pytest.raises(OverloadedError) as refused:
        await ingest.submit("prj_1", [a_row("late")], 10**12)
    return str(refused.value)


def test_what_is_acknowledged_is_stored(ingest: Ingest, warehouse: Warehouse) -> None:
    asyncio.run(ingest.submit("prj_1", [a_row("a"), a_row("b")]))
    assert stored(ingest, warehouse) == [(1, "a"), (2, "b")]
    assert ingest.last_seq_of("prj_1") == 2
    assert ingest.last_seq_of("prj_2") == 0


def test_nothing_submitted_is_nothing_stored(ingest: Ingest) -> None:
    asyncio.run(ingest.submit("prj_1", []))
    assert ingest.last_seq_of("prj_1") == 0


def test_the_newest_event_with_a_user_id_is_known(
    ingest: Ingest, warehouse: Warehouse, settings: Settings
) -> None:
    assert ingest.last_user_seq_of("prj_1") == 0
    identified = a_row("e2")._replace(user_id="ann", user_key=7)
    for rows, newest in (([a_row()], 0), ([identified, a_row("e3")], 3), ([a_row("e4")], 3)):
        asyncio.run(submit_all(ingest, ("prj_1", rows)))
        assert ingest.last_user_seq_of("prj_1") == newest
    ingest.stop()
    # Nothing is known of events from before a restart, so that it may be any of them.
    assert Ingest(warehouse, settings).last_user_seq_of("prj_1") == 4


def test_sequence_numbers_go_on_after_a_restart(warehouse: Warehouse, settings: Settings) -> None:
    for event_id in ("a", "b", "c"):
        with running(warehouse, settings) as ingest:
            asyncio.run(ingest.submit("prj_1", [a_row(event_id)]))
    assert stored(ingest, warehouse) == [(1, "a"), (2, "b"), (3, "c")]


def test_requests_that_arrive_during_a_write_share_the_next(
    ingest: Ingest, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, commits = list[int](), list[int]()
    append, transaction = Spool.append, warehouse.transaction

    def counted_append(spool: Spool, first_seq: int, last_seq: int, payload: bytes) -> Place:
        writes.append(last_seq)
        return append(spool, first_seq, last_seq, payload)

    def counted_transaction() -> object:
        commits.append(len(writes))
        return transaction()

    monkeypatch.setattr(Spool, "append", counted_append)
    monkeypatch.setattr(warehouse, "transaction", counted_transaction)
    asyncio.run(submit_all(ingest, *[("prj_1", [a_row(f"e{number}")]) for number in range(200)]))
    assert len(stored(ingest, warehouse)) == 200
    assert 1 <= len(writes) < 20
    assert 1 <= len(commits) < 10


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
POISON = a_row("poison", visitor_key=2**64)


def test_one_projects_broken_row_loses_nothing_of_the_others(
    ingest: Ingest, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def together() -> list[BaseException | None]:
        with a_held_writer(monkeypatch) as writer:
            first = await queued(ingest.submit("prj_0", [a_row()]))
            assert await asyncio.to_thread(writer.has_begun.wait, 30)
            rest = await queued(
                ingest.submit("prj_1", [a_row("a")]),
                ingest.submit("prj_2", [a_row("x"), POISON]),
                ingest.submit("prj_3", [a_row("b")]),
            )
            writer.release.set()
            await asyncio.gather(*first)
            return await asyncio.gather(*rest, return_exceptions=True)

    answers = asyncio.run(together())
    assert [type(answer) for answer in answers] == [type(None), NotStoredError, type(None)]
    assert stored(ingest, warehouse, "prj_1")[0][1] == "a"
    assert stored(ingest, warehouse, "prj_3")[0][1] == "b"
    assert events.count_by_type(warehouse, "prj_2") == {}


def test_after_a_failed_commit_the_next_one_works(ingest: Ingest, warehouse: Warehouse) -> None:
    with pytest.raises(NotStoredError):
        asyncio.run(ingest.submit("prj_1", [a_row("lost"), POISON]))
    asyncio.run(ingest.submit("prj_1", [a_row("kept")]))
    assert stored(ingest, warehouse) == [(1, "kept")]


def test_a_full_disk_stores_nothing_of_a_request_and_recovers(ingest: Ingest, warehouse: Warehouse) -> None:
    asyncio.run(ingest.submit("prj_1", [a_row("before")]))
    with no_file_larger_than(100_000), pytest.raises(NotStoredError):
        asyncio.run(ingest.submit("prj_1", [a_row(f"lost {number}" * 50) for number in range(1000)]))
    asyncio.run(ingest.submit("prj_1", [a_row("after")]))
    assert [event_id for _, event_id in stored(ingest, warehouse)] == ["before", "after"]


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


def test_a_client_that_goes_away_costs_nobody_else(ingest: Ingest, warehouse: Warehouse) -> None:
    async def leave() -> None:
        leaving = asyncio.create_task(ingest.submit("prj_1", [a_row("left")]))
        await asyncio.sleep(0)
        leaving.cancel()
        await ingest.submit("prj_1", [a_row("stayed")])

    asyncio.run(leave())
    assert [event_id for _, event_id in stored(ingest, warehouse)] == ["left", "stayed"]


def test_an_import_is_written_at_once_and_counted_in_order(ingest: Ingest, warehouse: Warehouse) -> None:
    asyncio.run(ingest.submit("prj_1", [a_row("a")]))
    ingest.write_now("prj_1", events.to_batch([a_row("b"), a_row("c")]))
    asyncio.run(ingest.submit("prj_1", [a_row("d")]))
    assert stored(ingest, warehouse) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_imports_and_requests_together_number_every_event_once(ingest: Ingest, warehouse: Warehouse) -> None:
    batch = events.to_batch([a_row()] * 10)

    def write_all() -> None:
        for _ in range(20):
            ingest.write_now("prj_1", batch)

    importer = threading.Thread(target=write_all)
    importer.start()
    asyncio.run(submit_all(ingest, *[("prj_1", [a_row()]) for _ in range(200)]))
    importer.join()
    assert [seq for seq, _ in stored(ingest, warehouse)] == list(range(1, 401))


def test_events_of_a_dropped_project_do_not_keep_later_ones_out(ingest: Ingest, warehouse: Warehouse) -> None:
    asyncio.run(ingest.submit("prj_1", [a_row()]))
    assert len(stored(ingest, warehouse)) == 1
    with warehouse.transaction() as cursor:
        events.drop(cursor, "prj_1")
    asyncio.run(ingest.submit("prj_1", [a_row("late")]))
    asyncio.run(ingest.submit("prj_2", [a_row("other")]))
    assert stored(ingest, warehouse) == [(2, "late")]
    assert stored(ingest, warehouse, "prj_2") == [(3, "other")]


def test_listeners_hear_of_events_in_the_order_of_their_numbers(ingest: Ingest, warehouse: Warehouse) -> None:
    heard: list[tuple[str, int, list[str]]] = []
    ingest.listen(lambda project, first, rows: heard.append((project, first, [row.event_id for row in rows])))
    ingest.listen_bulk(
        lambda project, first: heard.append((project, first, ["begin"])),
        lambda project: heard.append((project, ingest.last_seq_of(project), ["end"])),
    )
    ingest.listen_forget(lambda project: heard.append((project, 0, ["forget"])))
    asyncio.run(ingest.submit("prj_1", [a_row("a"), a_row("b")]))
    ingest.write_now("prj_1", events.to_batch([a_row("c"), a_row("d")]))
    asyncio.run(ingest.submit("prj_2", [a_row("e")]))
    ingest.forget("prj_1")
    assert heard == [
        ("prj_1", 1, ["a", "b"]),
        ("prj_1", 3, ["begin"]),
        ("prj_1", 4, ["end"]),
        ("prj_2", 5, ["e"]),
        ("prj_1", 0, ["forget"]),
    ]


def test_listeners_have_heard_of_an_event_once_it_is_acknowledged(ingest: Ingest) -> None:
    heard: list[str] = []
    ingest.listen(lambda _project, _first, rows: heard.extend(row.event_id for row in rows))

    async def send(event_id: str) -> bool:
        await ingest.submit("prj_1", [a_row(event_id)])
        return event_id in heard

    async def send_many() -> list[bool]:
        return await asyncio.gather(*(send(f"e{number}") for number in range(200)))

    assert all(asyncio.run(send_many()))


def test_what_is_loaded_is_found(ingest: Ingest, warehouse: Warehouse) -> None:
    asyncio.run(ingest.submit("prj_1", [a_row("a"), a_row("b")]))
    assert ingest.load()
    assert ingest.last_loaded_seq_of("prj_1") == ingest.last_seq_of("prj_1") == 2
    assert ingest.last_loaded_seq_of("prj_2") == 0
    assert stored(ingest, warehouse) == [(1, "a"), (2, "b")]


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


def test_what_cannot_be_synced_is_not_acknowledged(
    ingest: Ingest, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(ingest.submit("prj_1", [a_row("before")]))

    def fail(_: int) -> None:
        raise OSError("input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(spools, "_sync_data", fail)
        with pytest.raises(NotStoredError):
            asyncio.run(ingest.submit("prj_1", [a_row("lost")]))
    asyncio.run(ingest.submit("prj_1", [a_row("after")]))
    assert [event_id for _, event_id in stored(ingest, warehouse)] == ["before", "after"]
