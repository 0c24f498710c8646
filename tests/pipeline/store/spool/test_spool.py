import os
import stat
from pathlib import Path

import pytest

from pipeline.disk_space import DiskFullError
from pipeline.store.spool import spool as spools
from pipeline.store.spool.segments import SegmentHeader, read_segments, segment_paths
from pipeline.store.spool.spool import DamagedSpoolError, Spool, read_place
from tests.pipeline.full_disk import no_file_larger_than

COLUMNS = ("received_at", "event_id")


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool", "wh_1", COLUMNS)


def payloads(folder: Path) -> list[bytes]:
    return [record.payload for segment in read_segments(folder) for record in segment.records]


def test_what_is_appended_is_on_disk_and_can_be_read_again(spool: Spool) -> None:
    places = [spool.append(number, number, b"payload %d" % number) for number in (1, 2, 3)]
    assert payloads(spool.folder) == [b"payload 1", b"payload 2", b"payload 3"]
    assert [read_place(place).payload for place in places] == payloads(spool.folder)
    (segment,) = read_segments(spool.folder)
    assert segment.header == SegmentHeader("wh_1", 0, COLUMNS)


def test_only_the_owner_can_read_it(spool: Spool) -> None:
    place = spool.append(1, 1, b"")
    assert stat.S_IMODE(spool.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o600


def test_a_full_segment_is_followed_by_another_and_removed_once_it_is_loaded(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spools, "SEGMENT_BYTES", 1000)
    for number in range(1, 11):
        spool.append(number, number, b"x" * 300)
    headers = [segment.header for segment in read_segments(spool.folder)]
    assert len(headers) > 2
    assert [header.previous_seq for header in headers if header] == sorted(
        header.previous_seq for header in headers if header
    )
    assert len(payloads(spool.folder)) == 10
    spool.remove(5)
    left = [record for segment in read_segments(spool.folder) for record in segment.records]
    assert left[-1].last_seq == 10
    assert 1 < left[0].last_seq <= 6
    spool.remove(10)
    # But for the one that is being written.
    assert len(segment_paths(spool.folder)) == 1
    spool.close(10)
    assert not spool.folder.exists()


def test_what_is_not_loaded_is_left_at_the_end_and_read_by_the_next_process(spool: Spool) -> None:
    spool.append(1, 2, b"a")
    spool.close(0)
    again = Spool(spool.folder, "wh_1", COLUMNS)
    (segment,) = again.read_left()
    assert [record.payload for record in segment.records] == [b"a"]
    again.append(3, 3, b"b")
    # Never appended to what another process wrote, whose end may be torn.
    assert [segment.header and segment.header.previous_seq for segment in read_segments(again.folder)] == [
        0,
        2,
    ]
    again.remove(2)
    assert payloads(again.folder) == [b"b"]


def test_a_full_disk_leaves_no_part_of_a_record(spool: Spool) -> None:
    place = spool.append(1, 1, b"before")
    size = place.path.stat().st_size
    for room in (1, 10, 30, 100):
        with no_file_larger_than(size + room), pytest.raises(DiskFullError):
            spool.append(2, 2, b"x" * 1000)
        assert place.path.stat().st_size == size
    spool.append(3, 3, b"after")
    assert payloads(spool.folder) == [b"before", b"after"]
    assert len(segment_paths(spool.folder)) == 1


def test_a_full_disk_leaves_no_segment_without_records(spool: Spool) -> None:
    with no_file_larger_than(10), pytest.raises(DiskFullError):
        spool.append(1, 1, b"x")
    assert segment_paths(spool.folder) == {}
    spool.append(2, 2, b"after")
    assert payloads(spool.folder) == [b"after"]


def test_after_an_end_that_cannot_be_cut_off_the_next_record_is_in_a_file_of_its_own(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = spool.append(1, 1, b"first")

    def fail(*_: object) -> None:
        raise OSError("input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "ftruncate", fail)
        broken.setattr(spools, "_sync_data", fail)
        with pytest.raises(OSError, match="input/output"):
            spool.append(2, 2, b"not acknowledged")
    second = spool.append(3, 3, b"second")
    assert second.path != first.path
    assert [segment.header and segment.header.previous_seq for segment in read_segments(spool.folder)] == [
        0,
        1,
    ]


def test_a_record_that_changed_on_disk_is_not_read_again(spool: Spool) -> None:
    place = spool.append(1, 1, b"payload")
    content = place.path.read_bytes()
    place.path.write_bytes(content.replace(b"payload", b"PAYLOAD"))
    with pytest.raises(DamagedSpoolError):
        read_place(place)


def test_a_file_that_was_removed_or_replaced_is_noticed(spool: Spool) -> None:
    spool.require_in_place()
    place = spool.append(1, 1, b"")
    spool.require_in_place()
    place.path.unlink()
    with pytest.raises(OSError, match="was removed or replaced"):
        spool.require_in_place()
    place.path.write_bytes(b"")
    with pytest.raises(OSError, match="was removed or replaced"):
        spool.require_in_place()
