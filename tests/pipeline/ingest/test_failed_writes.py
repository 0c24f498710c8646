"""Spool writer: rows and disks that refuse, and what is stored afterwards."""

import asyncio

import pytest

from pipeline.ingest.errors import NotStoredError
from pipeline.ingest.ingest import Ingest
from pipeline.store.spool import spool as spools
from pipeline.store.warehouse.connection import Warehouse
from tests.pipeline.event_counts import count_by_type
from tests.pipeline.full_disk import no_file_larger_than
from tests.pipeline.ingest.event_rows import a_row, stored
from tests.pipeline.ingest.running_ingest import a_held_writer, queued

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
    assert count_by_type(warehouse, "prj_2") == {}


def test_a_disk_whose_space_cannot_be_read_refuses_events_until_it_can(
    ingest: Ingest, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*, more_bytes: int) -> None:
        raise OSError(f"no answer about {more_bytes} bytes")

    with monkeypatch.context() as broken:
        broken.setattr(warehouse, "require_space", fail)
        with pytest.raises(NotStoredError):
            asyncio.run(ingest.submit("prj_1", [a_row("refused")]))
    asyncio.run(ingest.submit("prj_1", [a_row("kept")]))
    assert stored(ingest, warehouse) == [(1, "kept")]


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
