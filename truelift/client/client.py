"""Client for servers that block: a thread of its own reads the experiments and sends the events."""

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import httpx2

from pipeline.assignment.targeting_attributes import Visitor
from truelift.client.first_variants import FirstVariants
from truelift.client.outbox import CAPACITY, MAX_BATCH
from truelift.client.service_connection import Connection, answer_of
from truelift.client.visitor_calls import VisitorCalls, timestamp_now

logger: Final = logging.getLogger("truelift.client")

# Events of so long a time share a request.
GATHER_SECONDS: Final = 0.5
CLOSE_SECONDS: Final = 5.0
# After a failure that nobody foresaw.
PAUSE_SECONDS: Final = 5.0


class Client(VisitorCalls):
    """Decisions and events of a project on a server; safe to share between threads, and to fork.

    The experiments are read when it is made, and every `poll_seconds` after that. A decision asks the service
    where weights have changed and nothing tells the visitor's first variant, once, and nobody otherwise.
    Events are sent in the background, and again until the service has told their verdict; at most `capacity`
    wait. `on_rejected` gets the result of an event that the service rejects, which is logged by default.
    """

    def __init__(  # noqa: PLR0913  # all but the address, the key and the project have defaults
        self,
        url: str,
        *,
        api_key: str,
        project_id: str,
        poll_seconds: float = 30.0,
        capacity: int = CAPACITY,
        timeout_seconds: float = 5.0,
        on_rejected: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        """Begin to read the experiments; ValueError for an argument that cannot be right."""
        super().__init__(poll_seconds=poll_seconds, capacity=capacity, on_rejected=on_rejected)
        self._connection = Connection(url, api_key, project_id, timeout_seconds)
        self._is_closed = False
        self._begin()
        _clients.add(self)

    def wait_until_ready(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until the experiments are known, and return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: self.is_ready, timeout_seconds)

    def flush(self, timeout_seconds: float = CLOSE_SECONDS) -> bool:
        """Wait until the service has told the verdict of every event; return whether it has in time."""
        with self._changed:
            self._is_flushing = True
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: self.unsent == 0, timeout_seconds)
            finally:
                self._is_flushing = False

    def close(self, timeout_seconds: float = CLOSE_SECONDS) -> bool:
        """Send what waits and end the thread; return whether the service has taken every event."""
        if not self._is_closed:
            self.flush(timeout_seconds)
            with self._changed:
                self._is_closed = self._outbox.is_closed = True
                self._changed.notify_all()
            self._thread.join(timeout_seconds)
            if self._asking is not None:
                self._asking.close()
            if self.unsent:
                logger.error("%d events are lost, the service did not take them in time", self.unsent)
        return self.unsent == 0

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client."""
        self.close()

    def _begin(self) -> None:
        """Make what every process has of its own: the thread with its connections."""
        self._changed = threading.Condition()
        self._is_flushing = False
        self._is_idle = False
        self._asking: httpx2.Client | None = None
        self._thread = threading.Thread(target=self._run, name="truelift-client", daemon=True)
        self._thread.start()

    def begin_in_child(self) -> None:
        """Begin anew in a forked process, whose parent sends the events that waited; called after a fork."""
        self._outbox.clear()
        self._first_variants = FirstVariants(self._first_variants.longest_pause)
        self._decider.decided.begin_in_child()
        if not self._is_closed:
            self._begin()

    def _wake(self) -> None:
        # The thread says that it is idle before it looks for events the last time.
        if self._is_idle:
            with self._changed:
                self._changed.notify_all()

    def _ask(self, visitor: Visitor) -> Mapping[str, str] | None:
        """Ask the service in the caller's thread; nothing while it does not answer, or once closed."""
        if self._is_closed or not self._first_variants.may_ask(time.monotonic()):
            return None
        with self._changed:
            http = self._asking = self._asking or self._connection.sync_client()
        try:
            body = self._first_variants.body(visitor)
            answer = answer_of(http.post(self._connection.visits_path, content=body))
        except (httpx2.HTTPError, RuntimeError) as error:
            # Closed meanwhile, in which case httpx says RuntimeError.
            self._first_variants.fail(f"{type(error).__name__}: {error}", time.monotonic())
            return None
        return self._first_variants.take(answer, time.monotonic())

    def _run(self) -> None:
        next_poll = next_send = time.monotonic()
        with self._connection.sync_client() as http:
            while not self._is_closed:
                try:
                    if time.monotonic() >= next_poll:
                        next_poll = self._poll(http) + time.monotonic()
                    elif self.unsent and time.monotonic() >= next_send:
                        next_send = self._send_batch(http) + time.monotonic()
                    else:
                        self._wait(next_poll, next_send)
                except Exception:
                    logger.exception("the client failed, and goes on")
                    next_poll = next_send = time.monotonic() + PAUSE_SECONDS

    def _poll(self, http: httpx2.Client) -> float:
        try:
            answer = answer_of(http.get(self._connection.config_path, headers=self._polling.headers()))
        except httpx2.HTTPError as error:
            return self._polling.fail(f"{type(error).__name__}: {error}")
        pause = self._polling.take(answer)
        with self._changed:
            self._changed.notify_all()
        return pause

    def _send_batch(self, http: httpx2.Client) -> float:
        body = self._delivery.body(timestamp_now())
        if body is None:
            return 0.0
        try:
            answer = answer_of(http.post(self._connection.events_path, content=body))
        except httpx2.HTTPError as error:
            return self._delivery.fail(f"{type(error).__name__}: {error}")
        pause = self._delivery.take(answer)
        with self._changed:
            self._changed.notify_all()
        return pause

    def _wait(self, next_poll: float, next_send: float) -> None:
        """Wait for the next request: for events, and then for more of them to share it."""
        with self._changed:
            self._is_idle = True
            if not self.unsent:
                self._changed.wait_for(lambda: self._is_closed or self.unsent > 0, _until(next_poll))
            if self.unsent:
                pause = max(_until(next_send), GATHER_SECONDS)
                self._changed.wait_for(self._has_enough, min(pause, _until(next_poll)))
            self._is_idle = False
            is_early = self.unsent and not self._is_closed and _until(next_send) > 0
            if is_early:
                # Somebody flushes, and the service has asked for a pause.
                self._changed.wait_for(lambda: self._is_closed, min(_until(next_send), _until(next_poll)))

    def _has_enough(self) -> bool:
        return self._is_closed or self._is_flushing or self.unsent >= MAX_BATCH


def _until(moment: float) -> float:
    return max(0.0, moment - time.monotonic())


_clients: Final[weakref.WeakSet[Client]] = weakref.WeakSet()


def _close_all() -> None:
    for client in list(_clients):
        client.close()


def _begin_all_in_child() -> None:
    for client in list(_clients):
        client.begin_in_child()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_all_in_child)
