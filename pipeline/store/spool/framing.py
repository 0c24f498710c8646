"""Framing of records in a spool file: payloads with their lengths, checksums and sequence numbers."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_START: Final = b"\xf5evt"
# Start, checksum of all that follows, length of the payload, first and last sequence number.
_HEAD: Final = struct.Struct("<4sIIQQ")
_CHECKED_FROM: Final = struct.calcsize("<4sI")


@dataclass(frozen=True, slots=True)
class Record:
    """A whole record: its place in the file, the sequence numbers of its events, and its payload."""

    offset: int
    first_seq: int
    last_seq: int
    payload: bytes

    @property
    def end(self) -> int:
        """Offset of the byte after the record."""
        return self.offset + _HEAD.size + len(self.payload)


def pack(first_seq: int, last_seq: int, payload: bytes) -> bytes:
    """Lay out one record."""
    unsigned = _HEAD.pack(_START, 0, len(payload), first_seq, last_seq)[_CHECKED_FROM:]
    checksum = zlib.crc32(payload, zlib.crc32(unsigned))
    return b"".join((_START, checksum.to_bytes(4, "little"), unsigned, payload))


def read_record(content: bytes | memoryview, offset: int) -> Record | None:
    """Read the record at an offset; None where no whole one is there."""
    head_end = offset + _HEAD.size
    if head_end > len(content):
        return None
    start, checksum, length, first_seq, last_seq = _HEAD.unpack_from(content, offset)
    end = head_end + length
    if start != _START or end > len(content):
        return None
    payload = bytes(content[head_end:end])
    if zlib.crc32(payload, zlib.crc32(content[offset + _CHECKED_FROM : head_end])) != checksum:
        return None
    return Record(offset, first_seq, last_seq, payload)


def read_records(content: bytes) -> Iterator[Record]:
    """Read every whole record; bytes that are none are skipped, so that offsets tell of gaps."""
    view, offset = memoryview(content), 0
    while offset < len(content):
        record = read_record(view, offset)
        if record is not None:
            yield record
            offset = record.end
        else:
            following = content.find(_START, offset + 1)
            offset = len(content) if following < 0 else following
