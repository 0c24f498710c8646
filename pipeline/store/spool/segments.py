"""Segments of the spool: its files, in the order of their numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from pipeline.store.spool.framing import Record, pack, read_records

_SUFFIX: Final = ".spool"
_DIGITS: Final = 12


class SegmentHeader(msgspec.Struct, frozen=True):
    """First record of a segment: the warehouse that its events are for, and what precedes them.

    `previous_seq` is the newest sequence number that was acknowledged from an earlier segment. `columns` are
    the names of an event's values.
    """

    warehouse_id: str
    previous_seq: int
    columns: tuple[str, ...]


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(SegmentHeader).decode


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as it is on disk: `records` are the whole ones, and `has_gap` where one is not the next."""

    path: Path
    header: SegmentHeader | None
    records: tuple[Record, ...]
    has_gap: bool

    @property
    def last_seq(self) -> int:
        """Newest sequence number of the whole records; 0 without one."""
        return max((record.last_seq for record in self.records), default=0)


def pack_header(header: SegmentHeader) -> bytes:
    """Lay out the first record of a segment."""
    return pack(0, 0, _encode(header))


def segment_path(folder: Path, number: int) -> Path:
    """Name the file of a segment."""
    return folder / f"{number:0{_DIGITS}d}{_SUFFIX}"


def segment_paths(folder: Path) -> Mapping[int, Path]:
    """Find the files of all segments by their numbers, in order; none where there is no folder."""
    found = {int(path.stem): path for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdecimal()}
    return dict(sorted(found.items()))


def read_segments(folder: Path) -> Iterator[Segment]:
    """Read all segments, one at a time, in order."""
    for path in segment_paths(folder).values():
        yield read_segment(path)


def try_segments(folder: Path) -> Iterator[tuple[Path, Segment | OSError]]:
    """Read all segments, one at a time, in order; the error in place of one that cannot be read."""
    for path in segment_paths(folder).values():
        try:
            segment = read_segment(path)
        except OSError as error:
            yield path, error
        else:
            yield path, segment


def read_segment(path: Path) -> Segment:
    """Read the whole records of a segment.

    Bytes after the last whole record are of one that was never acknowledged, or are what is left of one that
    was; the sequence numbers tell. A gap before a whole record is damage in any case.
    """
    found = list(read_records(path.read_bytes()))
    starts = [0, *(record.end for record in found[:-1])]
    has_gap = any(record.offset != start for record, start in zip(found, starts, strict=False))
    header = None
    if found and found[0].offset == 0:
        header = _decode(found.pop(0).payload)
    return Segment(path, header, tuple(found), has_gap)
