"""Sequence numbers of events, given in the order in which events are loaded into the warehouse."""

import threading
from collections.abc import Mapping, Sequence

from pipeline.store.event_columns import EventRow
from pipeline.store.ownership.commit_mark import CommitMark


class SequenceNumbers:
    """The newest sequence numbers, in all and by project.

    `lock` is held from `take` until the events are on disk, or until it is known which numbers precede them.
    """

    def __init__(
        self, last_seq: int, loaded_seq: int, last_seq_of: Mapping[str, int], mark: CommitMark
    ) -> None:
        """Continue after `last_seq`; `mark` tells the next start which number was acknowledged."""
        self.lock = threading.Lock()
        self.last_acknowledged = loaded_seq
        self._last_seq = last_seq
        self._last_seq_of = dict(last_seq_of)
        # Nothing is known of the events from before.
        self._last_user_seq_of = dict(last_seq_of)
        self._mark = mark

    def take(self, count: int) -> int:
        """Take so many numbers and return the first; they are not given again, whatever comes of them."""
        first = self._last_seq + 1
        self._last_seq += count
        return first

    def continue_after(self, last_seq: int) -> None:
        """Note that events up to a number were acknowledged by an earlier process."""
        self._last_seq = max(self._last_seq, last_seq)
        self.last_acknowledged = max(self.last_acknowledged, last_seq)

    def acknowledge(self, last_seq: int) -> None:
        """Note that events up to a number are about to be acknowledged, with `lock` held."""
        if last_seq > self.last_acknowledged:
            self.last_acknowledged = last_seq
            self._mark.write(last_seq)

    def note_events(self, project_id: str, last_seq: int, *, has_users: bool) -> None:
        """Note the newest event of a project."""
        self._last_seq_of[project_id] = max(last_seq, self.last_seq_of(project_id))
        if has_users:
            self._last_user_seq_of[project_id] = max(last_seq, self.last_user_seq_of(project_id))

    def last_seq_of(self, project_id: str) -> int:
        """Return the newest acknowledged number of a project; 0 where it has no events."""
        return self._last_seq_of.get(project_id, 0)

    def last_user_seq_of(self, project_id: str) -> int:
        """Return a number of a project that no event with a user id is above; 0 without events."""
        return self._last_user_seq_of.get(project_id, 0)

    def forget(self, project_id: str) -> None:
        """Forget the numbers of a project whose events were removed."""
        self._last_seq_of.pop(project_id, None)
        self._last_user_seq_of.pop(project_id, None)


def have_users(rows: Sequence[EventRow]) -> bool:
    """Tell whether any of the events has a user id."""
    return any(row.user_key is not None for row in rows)
