from pathlib import Path

from pipeline.ingest.backlog import Backlog
from pipeline.ingest.spooled_events import EventGroup, encode_groups, encode_rows
from pipeline.store.event_columns import EventRow
from pipeline.store.spool.spool import Spool
from tests.pipeline.ingest.event_rows import a_row


def fill(backlog: Backlog, folder: Path, sizes: list[int]) -> list[list[EventRow]]:
    spool = Spool(folder, "wh_1", EventRow._fields)
    requests, first = [], 1
    for size in sizes:
        rows = [a_row(f"e{first + place}") for place in range(size)]
        place = spool.append(first, first + size - 1, encode_groups([("prj_1", first, encode_rows(rows))]))
        backlog.add(place, [EventGroup("prj_1", first, rows)])
        requests.append(rows)
        first += size
    return requests


def test_records_come_in_order_up_to_a_number_of_rows_or_a_sequence_number(tmp_path: Path) -> None:
    backlog = Backlog(1000)
    fill(backlog, tmp_path, [3, 3, 3, 10])
    assert [record.last_seq for record in backlog.first(7, 100)] == [3, 6]
    assert [record.last_seq for record in backlog.first(100, 8)] == [3, 6]
    assert backlog.first(100, 2) == []
    backlog.remove(9)
    # A larger record comes alone.
    assert [record.last_seq for record in backlog.first(7, 100)] == [19]


def test_its_size_is_that_of_what_is_left(tmp_path: Path) -> None:
    backlog = Backlog(1000)
    assert (bool(backlog), backlog.rows, backlog.bytes) == (False, 0, 0)
    fill(backlog, tmp_path, [3, 4])
    assert (bool(backlog), backlog.rows) == (True, 7)
    before = backlog.bytes
    backlog.remove(3)
    assert (backlog.rows, 0 < backlog.bytes < before) == (4, True)
    backlog.remove(7)
    assert (bool(backlog), backlog.rows, backlog.bytes) == (False, 0, 0)


def test_what_memory_does_not_keep_is_read_from_the_spool_again(tmp_path: Path) -> None:
    backlog = Backlog(4)
    requests = fill(backlog, tmp_path, [3, 3, 1])
    records = backlog.first(100, 100)
    assert [bool(record.groups) for record in records] == [True, False, True]
    assert [list(record.read()[0].rows) for record in records] == requests
