"""Ingest: sequence numbers, listeners, imports and restarts."""

import asyncio
import threading

from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.warehouse import events
from pipeline.store.warehouse.connection import Warehouse
from tests.pipeline.ingest.event_rows import a_row, stored
from tests.pipeline.ingest.running_ingest import running, submit_all


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
