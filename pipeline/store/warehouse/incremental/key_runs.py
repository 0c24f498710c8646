"""Runs of keys: the events after one number up to another, in files sorted by their keys.

Each column has an array of integers: the upper bits of an event's key, and in the lower ones its place after
the number before the first. The fewer events a run has the more bits are the key's, so that hardly any two
keys are alike in them; whoever reads the events that were found compares whole keys.
"""

import logging
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from engine.typed_records import record_from_json
from pipeline.store.private_files import make_private_folder, remove_files, sync_folder

logger = logging.getLogger(__name__)

FORMAT: Final = 1
COLUMNS: Final = ("visitor_key", "event_key", "transaction_key")
# A merge sorts about so many at once, beside those of the key that has most.
_PART: Final = 2**20
_BLOCK: Final = 2**20
_KEY_BITS: Final = 64
_TAIL: Final = struct.Struct("<QQ")
_ENDING: Final = "keys"

Keys: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = npt.NDArray[np.int64]


class NewestEvent(NamedTuple):
    """Newest event of a run, by which it is known to be of this store: number, key and arrival."""

    seq: int
    event_key: int
    received_at: int


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """What stands after the arrays of a file, before its own length and the digest of all before that."""

    format: int = FORMAT
    after: int
    newest: NewestEvent
    counts: tuple[int, ...]


class KeyRun(NamedTuple):
    """Keys of the events numbered above `after`, up to the `newest` one, in mapped arrays."""

    path: Path
    after: int
    newest: NewestEvent
    arrays: Mapping[str, Keys]

    @property
    def until(self) -> int:
        """Number of the last event."""
        return self.newest.seq

    @property
    def size(self) -> int:
        """Number of keys of all columns."""
        return sum(map(len, self.arrays.values()))

    def find(self, column: str, keys: Keys) -> Places:
        """Return the numbers of the events with one of the sorted keys, and perhaps of very few others."""
        packed, mask = self.arrays[column], _mask(self.after, self.until)
        starts = np.searchsorted(packed, keys & ~mask)
        counts = np.searchsorted(packed, keys | mask, "right") - starts
        before = np.cumsum(counts) - counts
        at = np.repeat(starts - before, counts) + np.arange(counts.sum())
        places: Places = (packed[at] & mask).astype(np.int64) + self.after
        return places


def pack(keys: Keys, seqs: Places, after: int, until: int) -> Keys:
    """Lay out the array of a run."""
    mask = _mask(after, until)
    packed = (keys & ~mask) | (seqs - after).astype(np.uint64)
    packed.sort()
    return packed


def read_runs(folder: Path, project_id: str) -> list[KeyRun]:
    """Read a project's runs, each of which begins where the one before it ends; none where one is damaged."""
    found = list(_ranges(folder, project_id))
    runs: list[KeyRun] = []
    while following := {path: end for path, start, end in found if start == _end(runs)}:
        # Where a process was killed in a merge, there is the merged one and parts of it.
        run = _read(max(following, key=following.__getitem__))
        if run is None:
            break
        runs.append(run)
    return runs


def write_run(
    folder: Path, project_id: str, newest: NewestEvent, after: int, columns: Sequence[Iterable[Keys]]
) -> KeyRun:
    """Write a run of the chunks of each column, and open it; OSError."""
    make_private_folder(folder)
    path = folder / f"{project_id}.{after}-{newest.seq}.{_ENDING}"
    unfinished = path.with_suffix(".new")
    counts, digest = [0] * len(columns), 0
    try:
        with unfinished.open("wb") as file:
            for number, chunks in enumerate(columns):
                for chunk in chunks:
                    file.write(chunk.data)
                    counts[number] += len(chunk)
                    digest = zlib.crc32(chunk.data, digest)
            header = msgspec.json.encode(_Header(after=after, newest=newest, counts=tuple(counts)))
            file.write(header + _TAIL.pack(len(header), zlib.crc32(header, digest)))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        sync_folder(folder)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise
    run = _read(path)
    if run is None:
        raise OSError(f"{path} is not as it was written")
    return run


def merge_runs(folder: Path, project_id: str, runs: Sequence[KeyRun]) -> KeyRun:
    """Write one run of several that follow each other; OSError."""
    after, newest = runs[0].after, runs[-1].newest
    columns = [_merged(runs, name, after, newest.seq) for name in COLUMNS]
    return write_run(folder, project_id, newest, after, columns)


def remove_runs(folder: Path, project_id: str, *, but: Iterable[KeyRun] = ()) -> None:
    """Remove a project's files, but for some; it returns once they are gone from the disk. OSError."""
    kept = {run.path for run in but}
    gone = [path for path in folder.glob(f"{project_id}.*") if path not in kept]
    remove_files(gone)
    if gone:
        sync_folder(folder)


def _merged(runs: Sequence[KeyRun], column: str, after: int, until: int) -> Iterator[Keys]:
    """Yield the array of a column in parts, each with all events of its keys."""
    arrays = [run.arrays[column] for run in runs]
    bits = (sum(map(len, arrays)) // _PART).bit_length()
    bounds = np.arange(1, 2**bits, dtype=np.uint64) << np.uint64(_KEY_BITS - bits) if bits else _NO_KEYS
    cuts = [[0, *np.searchsorted(packed, bounds).tolist(), len(packed)] for packed in arrays]
    mask = _mask(after, until)
    for part in range(2**bits):
        packed = np.empty(sum(ends[part + 1] - ends[part] for ends in cuts), np.uint64)
        filled = 0
        for run, array, ends in zip(runs, arrays, cuts, strict=True):
            own = array[ends[part] : ends[part + 1]]
            place = (own & _mask(run.after, run.until)) + np.uint64(run.after - after)
            packed[filled : filled + len(own)] = (own & ~mask) | place
            filled += len(own)
        packed.sort()
        yield packed


_NO_KEYS: Final = np.empty(0, np.uint64)


def _mask(after: int, until: int) -> np.uint64:
    return np.uint64((1 << (until - after).bit_length()) - 1)


def _end(runs: Sequence[KeyRun]) -> int:
    return runs[-1].until if runs else 0


def _ranges(folder: Path, project_id: str) -> Iterator[tuple[Path, int, int]]:
    """Yield the files of a project's runs, with the numbers between which their events are."""
    name = re.compile(rf"{re.escape(project_id)}\.(\d+)-(\d+)\.{_ENDING}")
    for path in folder.glob(f"{project_id}.*"):
        if found := name.fullmatch(path.name):
            yield path, int(found[1]), int(found[2])


def _read(path: Path) -> KeyRun | None:
    """Map a file; None where it is damaged."""
    try:
        status = path.stat()
        require_intact(path, status.st_ino, status.st_mtime_ns, status.st_size)
        header = _read_header(path, status.st_size)
        mapped = np.memmap(path, "<u8", "r", shape=(sum(header.counts),)).view(np.ndarray)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, struct.error, msgspec.MsgspecError) as error:
        logger.warning("%s is damaged (%s): events are looked through", path, error)
        return None
    arrays = dict(zip(COLUMNS, np.split(mapped, np.cumsum(header.counts)[:-1]), strict=True))
    return KeyRun(path, header.after, header.newest, arrays)


def _read_header(path: Path, size: int) -> _Header:
    with path.open("rb") as file:
        file.seek(size - _TAIL.size)
        length, _ = _TAIL.unpack(file.read())
        file.seek(size - _TAIL.size - length)
        header = record_from_json(file.read(length), _Header)
    if header.format != FORMAT:
        raise ValueError("it is of another version")
    return header


@lru_cache(maxsize=1024)
def require_intact(path: Path, _inode: int, _written: int, size: int) -> None:
    """Read a file once after the start, and compare its digest; ValueError."""
    found, left = 0, size - _TAIL.size
    with path.open("rb") as file:
        while left > 0 and (read := file.read(min(left, _BLOCK))):
            found, left = zlib.crc32(read, found), left - len(read)
        _, digest = _TAIL.unpack(file.read())
    if digest != found:
        raise ValueError("its digest differs")
