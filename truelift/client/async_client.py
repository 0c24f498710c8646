"""Client for servers on asyncio: two tasks read the experiments and send the events."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import httpx2

from pipeline.assignment.targeting_attributes import Visitor
from truelift.client.client import CLOSE_SECONDS, GATHER_SECONDS, PAUSE_SECONDS
from truelift.client.outbox import CAPACITY, MAX_BATCH
from truelift.client.service_connection import Connection, answer_of
from truelift.client.visitor_calls import VisitorCalls, a_visitor, timestamp_now

# Further ones are asked for at their next decision.
MOST_UNKNOWN: Final = 1_000

logger: Final = logging.getLogger("truelift.client")


class AsyncClient(VisitorCalls):
    """The same as `Client` in an event loop: `async with`, or `start` and `close`.

    Decisions and events are plain calls, since they wait for nothing; threads may make them, too. Where the
    service alone knows a visitor's first variant, `await recall(visitor_id)` before a decision asks for it;
    a decision without it takes the visitor out, and has the service asked for the next one.
    """

    def __init__(  # noqa: PLR0913  # as `Client`
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
        """Check the arguments; ValueError for one that cannot be right."""
        super().__init__(poll_seconds=poll_seconds, capacity=capacity, on_rejected=on_rejected)
        self._connection = Connection(url, api_key, project_id, timeout_seconds)
        self._tasks: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        # Visitors whose first variants a decision has lacked.
        self._unknown: dict[str, Visitor] = {}

    async def start(self) -> None:
        """Begin to read the experiments and to send events."""
        if self._loop is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._http = self._connection.async_client()
        self._has_polled, self._has_sent, self._has_events = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_flushing, self._has_unknown = asyncio.Event(), asyncio.Event()
        self._tasks = [
            asyncio.create_task(self._repeat(self._poll), name="truelift-client-poll"),
            asyncio.create_task(self._repeat(self._send_waiting), name="truelift-client-send"),
            asyncio.create_task(self._repeat(self._recall_waiting), name="truelift-client-recall"),
        ]

    async def wait_until_ready(self, timeout_seconds: float = 5.0) -> bool:
        """Wait until the experiments are known, and return whether they are."""
        return await self._wait_for(lambda: self.is_ready, self._has_polled, timeout_seconds)

    async def recall(
        self,
        visitor_id: str,
        *,
        user_id: str | None = None,
        url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> bool:
        """Ask the service for first variants that `decide` would lack; return whether none is lacking now.

        These are of experiments whose weights have changed. Takes what `decide` takes of the visitor.
        """
        visitor = a_visitor(visitor_id, user_id, url, attributes)
        if self._decider.has_unknown(visitor):
            await self._recall(visitor)
        return not self._decider.has_unknown(visitor)

    async def flush(self, timeout_seconds: float = CLOSE_SECONDS) -> bool:
        """Wait until the service has told the verdict of every event; return whether it has in time."""
        self._is_flushing.set()
        self._has_events.set()
        try:
            return await self._wait_for(lambda: self.unsent == 0, self._has_sent, timeout_seconds)
        finally:
            self._is_flushing.clear()

    async def close(self, timeout_seconds: float = CLOSE_SECONDS) -> bool:
        """Send what waits and end the tasks; return whether the service has taken every event."""
        if self._loop is not None and not self._is_closed:
            try:
                await self.flush(timeout_seconds)
            finally:
                # Also where the caller stops waiting.
                self._is_closed = self._outbox.is_closed = True
                for task in self._tasks:
                    task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._http.aclose()
            if self.unsent:
                logger.error("%d events are lost, the service did not take them in time", self.unsent)
        return self.unsent == 0

    async def __aenter__(self) -> Self:
        """Start the client."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client."""
        await self.close()

    def _wake(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._has_events.set)

    def _ask(self, visitor: Visitor) -> Mapping[str, str] | None:
        """Have the service asked in the background: a decision waits for nothing."""
        if self._loop is not None and not self._loop.is_closed() and len(self._unknown) < MOST_UNKNOWN:
            self._unknown[visitor.visitor_id] = visitor
            self._loop.call_soon_threadsafe(self._has_unknown.set)
        return None

    async def _recall_waiting(self) -> None:
        await self._has_unknown.wait()
        self._has_unknown.clear()
        while self._unknown:
            # In one step: threads add further ones.
            _, visitor = self._unknown.popitem()
            await self._recall(visitor)

    async def _recall(self, visitor: Visitor) -> None:
        if self._loop is None or self._is_closed or not self._first_variants.may_ask(time.monotonic()):
            return
        try:
            body = self._first_variants.body(visitor)
            response = await self._http.post(self._connection.visits_path, content=body)
        except httpx2.HTTPError as error:
            self._first_variants.fail(f"{type(error).__name__}: {error}", time.monotonic())
            return
        answers = self._first_variants.take(answer_of(response), time.monotonic())
        self._decider.hold(visitor, answers or {})

    async def _repeat(self, work: Callable[[], Any]) -> None:
        while True:
            try:
                await work()
            except Exception:
                logger.exception("the client failed, and goes on")
                await asyncio.sleep(PAUSE_SECONDS)

    async def _poll(self) -> None:
        try:
            response = await self._http.get(self._connection.config_path, headers=self._polling.headers())
        except httpx2.HTTPError as error:
            pause = self._polling.fail(f"{type(error).__name__}: {error}")
        else:
            pause = self._polling.take(answer_of(response))
        self._has_polled.set()
        await asyncio.sleep(pause)

    async def _send_waiting(self) -> None:
        """Wait for events, and for more of them to share a request, and send them."""
        await self._has_events.wait()
        if not self._is_flushing.is_set() and self.unsent < MAX_BATCH:
            await self._gather()
        self._has_events.clear()
        body = self._delivery.body(timestamp_now())
        while body is not None:
            try:
                response = await self._http.post(self._connection.events_path, content=body)
            except httpx2.HTTPError as error:
                pause = self._delivery.fail(f"{type(error).__name__}: {error}")
            else:
                pause = self._delivery.take(answer_of(response))
            self._has_sent.set()
            await asyncio.sleep(pause)
            body = self._delivery.body(timestamp_now())

    async def _gather(self) -> None:
        try:
            await asyncio.wait_for(self._is_flushing.wait(), GATHER_SECONDS)
        except TimeoutError:
            return

    async def _wait_for(
        self, is_done: Callable[[], bool], happened: asyncio.Event, timeout_seconds: float
    ) -> bool:
        deadline = time.monotonic() + timeout_seconds
        while not is_done():
            happened.clear()
            try:
                await asyncio.wait_for(happened.wait(), max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                break
        return is_done()
