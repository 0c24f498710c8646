"""Coverage of a project's events by its index: where stored events have still to be read."""

from dataclasses import dataclass


@dataclass(slots=True)
class Coverage:
    """What is missing in an index that is fed with each event but those of bulk writes.

    Changed only while no event is fed. Events up to `after_seq` are in the index, and all others once it is
    certain; those of a bulk write are missing from the moment at which they get their numbers.
    """

    after_seq: int = 0
    _open_bulks: int = 0
    # Counts the reasons to read, and those that have been read for.
    reasons: int = 1
    read: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether every acknowledged event is in the index."""
        return self.read == self.reasons

    @property
    def is_certain(self) -> bool:
        """Whether every event with a number is in the index, acknowledged or not."""
        return self.is_complete and not self._open_bulks

    def require_read(self, newest_seq: int) -> None:
        """Note that stored events are to be read, in which no event up to a number is missing so far."""
        if self.is_certain:
            self.after_seq = newest_seq
        self.reasons += 1

    def begin_bulk(self, first_seq: int) -> None:
        """Note a bulk write that begins with a number."""
        self.after_seq = first_seq - 1 if self.is_certain else min(self.after_seq, first_seq - 1)
        self._open_bulks += 1

    def end_bulk(self) -> None:
        """Note the end of a bulk write, whose events are now to be read."""
        self._open_bulks -= 1
        self.reasons += 1
