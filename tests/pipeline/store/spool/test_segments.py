from pathlib import Path

from pipeline.store.spool.framing import pack
from pipeline.store.spool.segments import (
    SegmentHeader,
    pack_header,
    read_segment,
    read_segments,
    segment_path,
    segment_paths,
)

HEADER = SegmentHeader("wh_1", 3, ("received_at", "event_id"))


def write(folder: Path, number: int, *parts: bytes) -> Path:
    path = segment_path(folder, number)
    path.write_bytes(b"".join(parts))
    return path


def test_a_segment_is_read_with_its_header(tmp_path: Path) -> None:
    path = write(tmp_path, 1, pack_header(HEADER), pack(4, 5, b"a"), pack(6, 6, b"b"))
    segment = read_segment(path)
    assert segment.header == HEADER
    assert [(one.first_seq, one.last_seq, one.payload) for one in segment.records] == [
        (4, 5, b"a"),
        (6, 6, b"b"),
    ]
    assert (segment.last_seq, segment.has_gap) == (6, False)


def test_a_torn_end_is_no_gap_and_a_damaged_middle_is(tmp_path: Path) -> None:
    first, second = pack(4, 5, b"a" * 50), pack(6, 6, b"b")
    torn = read_segment(write(tmp_path, 1, pack_header(HEADER), first, second[:-1]))
    assert (torn.last_seq, torn.has_gap) == (5, False)
    damaged = read_segment(write(tmp_path, 2, pack_header(HEADER), first[:-1], b"?", second))
    assert (damaged.last_seq, damaged.has_gap) == (6, True)


def test_a_segment_whose_header_is_torn_has_none(tmp_path: Path) -> None:
    for content in (b"", pack_header(HEADER)[:-1]):
        segment = read_segment(write(tmp_path, 1, content))
        assert (segment.header, segment.records, segment.last_seq, segment.has_gap) == (None, (), 0, False)
    damaged = read_segment(write(tmp_path, 1, pack_header(HEADER)[:-1], b"?", pack(4, 5, b"a")))
    assert (damaged.header, damaged.last_seq, damaged.has_gap) == (None, 5, True)


def test_segments_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        write(tmp_path, number, pack_header(HEADER), pack(number, number, b""))
    (tmp_path / "notes.txt").write_text("no segment")
    assert list(segment_paths(tmp_path)) == [1, 2, 10]
    assert [segment.last_seq for segment in read_segments(tmp_path)] == [1, 2, 10]
    assert segment_paths(tmp_path / "absent") == {}
