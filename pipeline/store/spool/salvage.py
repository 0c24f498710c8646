"""Salvage of a damaged spool: its whole records in a new one, and the old one beside it."""

import os
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec.structs import replace

from pipeline.store.private_files import make_private_folder
from pipeline.store.spool.framing import Record, pack
from pipeline.store.spool.segments import SegmentHeader, pack_header, try_segments


def salvage_spool(folder: Path, aside: Path, warehouse_ids: Collection[str], loaded_seq: int) -> None:
    """Move a spool to `aside`, and keep the whole records for a warehouse of the ids, the first from now on.

    Where the process ends in between, the next start finds the damage, or the missing spool, again.
    """
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    make_private_folder(draft)
    last_seq = 0
    for path, segment in try_segments(folder):
        if isinstance(segment, OSError) or segment.header is None:
            continue
        if segment.header.warehouse_id in warehouse_ids:
            header = replace(segment.header, warehouse_id=next(iter(warehouse_ids)), previous_seq=loaded_seq)
            # Each event once, where a file was copied.
            records = [record for record in segment.records if record.first_seq > last_seq]
            last_seq = max(last_seq, segment.last_seq)
            _write(draft / path.name, header, records)
    folder.rename(aside)
    draft.rename(folder)


def _write(path: Path, header: SegmentHeader, records: Iterable[Record]) -> None:
    with path.open("wb") as file:
        file.write(pack_header(header))
        file.writelines(pack(record.first_seq, record.last_seq, record.payload) for record in records)
        file.flush()
        os.fsync(file.fileno())
