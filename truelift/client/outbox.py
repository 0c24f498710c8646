"""Outbox: events that wait for the verdict of the service."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import msgspec

MAX_BATCH: Final = 500
# Below the 1 MiB that a body may have.
MAX_BATCH_BYTES: Final = 900_000
MAX_EVENT_BYTES: Final = 32 * 1024
CAPACITY: Final = 10_000

_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Outbox:
    """Events by id in the order of their coming, safe to share between threads.

    An event leaves it by the service's verdict alone. A full or closed one takes no more, and counts these.
    """

    capacity: int = CAPACITY
    refused: int = 0
    is_closed: bool = False
    _events: dict[str, bytes] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, event: Mapping[str, Any]) -> bool:
        """Add an event with its `event_id`; return whether there was room. ValueError if it is too large."""
        content = _encode(event)
        if len(content) > MAX_EVENT_BYTES:
            raise ValueError(
                f"an event may have {MAX_EVENT_BYTES:,} bytes as JSON, this one has {len(content):,}"
            )
        with self._lock:
            if self.is_closed or len(self._events) >= self.capacity:
                self.refused += 1
                return False
            self._events[event["event_id"]] = content
            return True

    def batch(self) -> dict[str, bytes]:
        """Return the oldest events by id, as many as one request may have; they stay in the outbox."""
        with self._lock:
            oldest = dict(islice(self._events.items(), MAX_BATCH))
        size = 0
        for count, content in enumerate(oldest.values()):
            size += len(content) + 1
            if size > MAX_BATCH_BYTES:
                return dict(islice(oldest.items(), count))
        return oldest

    def settle(self, event_ids: Iterable[str]) -> None:
        """Remove events of which the service has told the verdict."""
        with self._lock:
            for event_id in event_ids:
                self._events.pop(event_id, None)

    def clear(self) -> None:
        """Forget all events, as the child of a process must: its parent sends them."""
        self._lock = threading.Lock()
        self._events = {}

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self._events)
