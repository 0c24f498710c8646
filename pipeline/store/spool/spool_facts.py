"""Facts about a spool: its newest event, and what is missing or damaged of it."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.store.spool.segments import Segment, try_segments


@dataclass(frozen=True, slots=True)
class SpoolFacts:
    """The newest sequence number of a spool, 0 where it is empty, and its first problem, if any."""

    last_seq: int
    problem: str | None


def inspect_spool(folder: Path, warehouse_id: str | None, loaded_seq: int) -> SpoolFacts:
    """Compare a spool with its warehouse, which has every event up to `loaded_seq`."""
    problem, last_seq = None, 0
    for path, segment in try_segments(folder):
        if isinstance(segment, OSError):
            problem = problem or f"the spool file {path} cannot be read: {segment.strerror}"
            continue
        problem = problem or _problem_of(segment, warehouse_id or "", loaded_seq, last_seq)
        last_seq = max(last_seq, segment.last_seq)
    return SpoolFacts(last_seq, problem)


def _problem_of(segment: Segment, warehouse_id: str, loaded_seq: int, spooled_seq: int) -> str | None:
    """Describe the damage of a segment; None without any. Earlier segments end with `spooled_seq`."""
    header, file = segment.header, f"the spool file {segment.path}"
    seen_seq = max(loaded_seq, spooled_seq)
    if header is not None and header.warehouse_id != warehouse_id:
        return f"{file} is of another warehouse"
    if header is not None and header.previous_seq > seen_seq:
        missing = f"events {seen_seq + 1:,} to {header.previous_seq:,} are missing or damaged"
        return f"the spool lacks acknowledged events before {segment.path}: {missing}"
    # Without a later event that waits, all that is not whole may have been torn, or is loaded already.
    if segment.last_seq <= loaded_seq:
        return None
    if segment.records[0].first_seq <= spooled_seq:
        return f"{file} repeats events of an earlier file"
    # A segment is synced with its header before any event in it is acknowledged.
    if header is None:
        return f"{file} is damaged at its beginning"
    return f"{file} is damaged between whole records" if segment.has_gap else None
