"""Append-only, checksummed and synced files of acknowledged events."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.disk_space import disk_full_errors
from pipeline.store.private_files import OWNERS_FILE, make_private_folder, sync_folder
from pipeline.store.spool.framing import Record, pack, read_record
from pipeline.store.spool.segments import (
    Segment,
    SegmentHeader,
    pack_header,
    read_segments,
    segment_path,
    segment_paths,
)

SEGMENT_BYTES: Final = 64 * 2**20
# Not on macOS and Windows, where the times of a file are synced along.
_sync_data = getattr(os, "fdatasync", os.fsync)


class DamagedSpoolError(OSError):
    """A record that was synced cannot be read again."""


@dataclass(frozen=True, slots=True)
class Place:
    """A record in a file of the spool."""

    path: Path
    offset: int
    size: int


class Spool:
    """Writer of the spool, for one thread.

    A record is on disk once `append` returns, and the next one is written only then, so that after a power
    cut at most the last record of a segment is torn. What an earlier process left is never appended to.
    """

    def __init__(self, folder: Path, warehouse_id: str, columns: Sequence[str]) -> None:
        """Write into `folder`, which is created with the first record."""
        self.folder = folder
        self._warehouse_id = warehouse_id
        self._columns = tuple(columns)
        self._number = max(segment_paths(folder), default=0)
        # Full segments with their newest sequence numbers, and the one that is being written.
        self._full: list[tuple[Path, int]] = []
        self._listing = threading.Lock()
        self._current: _OpenSegment | None = None
        self._last_seq = 0

    def read_left(self) -> Iterator[Segment]:
        """Read the segments that an earlier process left, before anything is appended."""
        for segment in read_segments(self.folder):
            self._full.append((segment.path, segment.last_seq))
            self.start_after(segment.last_seq)
            yield segment

    def start_after(self, seq: int) -> None:
        """Take `seq` as acknowledged already, at least."""
        self._last_seq = max(self._last_seq, seq)

    def append(self, first_seq: int, last_seq: int, payload: bytes) -> Place:
        """Return once a record is on disk.

        Raises DiskFullError and OSError; the record is not in the spool then, and its numbers must not be
        used again.
        """
        with disk_full_errors():
            segment = self._segment_with_room()
            place = segment.append(pack(first_seq, last_seq, payload))
        segment.last_seq = self._last_seq = last_seq
        return place

    def remove(self, loaded_seq: int) -> None:
        """Remove the segments whose events are all up to `loaded_seq`, but for the one being written.

        From any thread.
        """
        with self._listing:
            self._full = [(path, last) for path, last in self._full if not _removed(path, last, loaded_seq)]

    def leave_segment(self) -> None:
        """Close the segment, so that it can be removed, and begin another with the next record."""
        if self._current is not None:
            self._current.close()
            with self._listing:
                self._full.append((self._current.path, self._current.last_seq))
            self._current = None

    def close(self, loaded_seq: int) -> None:
        """Close the file, and remove every segment whose events are all up to `loaded_seq`."""
        self.leave_segment()
        self.remove(loaded_seq)
        with suppress(OSError):
            self.folder.rmdir()

    def require_in_place(self) -> None:
        """Raise OSError where the file that is being written was removed or replaced."""
        if self._current is not None and not self._current.is_in_place():
            raise OSError(f"{self._current.path} was removed or replaced while it was in use")

    def _segment_with_room(self) -> "_OpenSegment":
        if self._current is not None and (self._current.is_broken or self._current.size >= SEGMENT_BYTES):
            self.leave_segment()
        if self._current is None:
            make_private_folder(self.folder)
            sync_folder(self.folder.parent)
            self._number += 1
            header = SegmentHeader(self._warehouse_id, self._last_seq, self._columns)
            self._current = _OpenSegment(segment_path(self.folder, self._number), pack_header(header))
        return self._current


class _OpenSegment:
    """The segment that is being written."""

    def __init__(self, path: Path, header: bytes) -> None:
        """Create the file with its header, synced; OSError leaves no file."""
        self.path = path
        self.size = 0
        self.last_seq = 0
        self.is_broken = False
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE)
        try:
            self.append(header)
            sync_folder(path.parent)
        except BaseException:
            self.close()
            path.unlink(missing_ok=True)
            raise

    def append(self, record: bytes) -> Place:
        """Write and sync a record; on failure the file is cut back to the last whole one."""
        try:
            _write(self._descriptor, record)
            _sync_data(self._descriptor)
        except BaseException:
            self._cut()
            raise
        place = Place(self.path, self.size, len(record))
        self.size += len(record)
        return place

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def is_in_place(self) -> bool:
        """Tell whether the file is still the one at its path."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except OSError:
            return False

    def _cut(self) -> None:
        try:
            os.ftruncate(self._descriptor, self.size)
            os.lseek(self._descriptor, self.size, os.SEEK_SET)
            _sync_data(self._descriptor)
        except OSError:
            # The rest of a record may stay; the next one goes into a file of its own.
            self.is_broken = True


def read_place(place: Place) -> Record:
    """Read a record again; DamagedSpoolError where it is not whole any more."""
    with place.path.open("rb") as file:
        file.seek(place.offset)
        content = file.read(place.size)
    record = read_record(content, 0)
    if record is None:
        raise DamagedSpoolError(f"the record at {place.offset} of {place.path} cannot be read again")
    return record


def _write(descriptor: int, content: bytes) -> None:
    written = os.write(descriptor, content)
    while written < len(content):
        written += os.write(descriptor, memoryview(content)[written:])


def _removed(path: Path, last_seq: int, loaded_seq: int) -> bool:
    if last_seq > loaded_seq:
        return False
    path.unlink(missing_ok=True)
    return True
