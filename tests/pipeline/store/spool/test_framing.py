import zlib

from hypothesis import given
from hypothesis import strategies as st

from pipeline.store.spool.framing import pack, read_record, read_records

payloads = st.lists(st.binary(max_size=60), min_size=1, max_size=6)


def a_file(contents: list[bytes]) -> tuple[bytes, list[int]]:
    """Lay out records one after another, and the offsets at which they end."""
    packed = [pack(number, number, content) for number, content in enumerate(contents, start=1)]
    ends = [sum(map(len, packed[: count + 1])) for count in range(len(packed))]
    return b"".join(packed), ends


@given(payloads)
def test_records_are_read_as_they_were_written(contents: list[bytes]) -> None:
    file, ends = a_file(contents)
    records = list(read_records(file))
    assert [record.payload for record in records] == contents
    assert [record.first_seq for record in records] == list(range(1, len(contents) + 1))
    assert [record.end for record in records] == ends


@given(payloads)
def test_a_file_torn_at_any_byte_has_its_whole_records_and_no_other(contents: list[bytes]) -> None:
    file, ends = a_file(contents)
    for size in range(len(file) + 1):
        whole = [content for content, end in zip(contents, ends, strict=True) if end <= size]
        assert [record.payload for record in read_records(file[:size])] == whole


@given(payloads, st.data())
def test_a_changed_byte_costs_the_record_that_it_is_in_and_no_other(
    contents: list[bytes], data: st.DataObject
) -> None:
    file, ends = a_file(contents)
    place = data.draw(st.integers(0, len(file) - 1))
    changed = bytearray(file)
    changed[place] ^= data.draw(st.integers(1, 255))
    hit = next(number for number, end in enumerate(ends) if place < end)
    assert [record.payload for record in read_records(bytes(changed))] == contents[:hit] + contents[hit + 1 :]


@given(payloads, st.binary(max_size=100))
def test_garbage_after_the_last_record_is_no_record(contents: list[bytes], garbage: bytes) -> None:
    file, _ = a_file(contents)
    assert [record.payload for record in read_records(file + garbage)] == contents


def test_the_checksum_is_the_crc_of_zip_files() -> None:
    record = pack(1, 2, b"events")
    assert int.from_bytes(record[4:8], "little") == zlib.crc32(record[8:])


def test_a_length_beyond_the_file_is_no_record() -> None:
    record = pack(1, 1, b"x" * 100)
    assert read_record(record, 0) is not None
    assert read_record(record[:-1], 0) is None
