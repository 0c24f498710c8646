"""Load of events over raw sockets: as little work as possible, so that the service is measured.

Run with a load as JSON; prints events acknowledged per second, and how many they were, as a JSON array.
"""

import asyncio
import itertools
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import uvloop

WARM_UP_SECONDS = 1.0
# Bodies made beforehand and sent in turn; about as many events for either size.
EVENTS_PREPARED = 5_000
LENGTH = re.compile(rb"(?i)content-length: (\d+)")


@dataclass(frozen=True, slots=True)
class Load:
    """The events to send, and the port to send them to."""

    port: int
    sdk_key: str
    experiment_id: str
    variant_id: str
    connections: int
    events_a_request: int
    seconds: float


@dataclass(slots=True)
class Tally:
    """Events acknowledged in the whole time, and in the part of it that is measured."""

    counts_from: float
    ends_at: float
    acknowledged: int = 0
    measured: int = 0
    failure: str | None = None


class Sender(asyncio.Protocol):
    """One connection: sends the next request when the last one is answered, until the time is over."""

    def __init__(self, load: Load, requests: Iterator[bytes], tally: Tally) -> None:
        """Send `requests`, and count the answers in `tally`."""
        self._events = load.events_a_request
        self._requests = requests
        self._tally = tally
        self._answer = b""
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        # A uvloop transport is no asyncio.Transport by class, and is one by what it does.
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        """Count the answer once it is whole, and send the next request."""
        self._answer += data
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if not separator or len(body) < int(LENGTH.search(head)[1]):  # type: ignore[index]  # always declared
            return
        if not head.startswith(b"HTTP/1.1 200"):
            self._tally.failure = (head + body).decode()
            self._transport.close()
            return
        self._answer = b""
        self._count(time.perf_counter())

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        """Mark this connection as done."""
        self.closed.set_result(None)

    def _count(self, now: float) -> None:
        self._tally.acknowledged += self._events
        if now >= self._tally.ends_at:
            self._transport.close()
            return
        if now >= self._tally.counts_from:
            self._tally.measured += self._events
        self._transport.write(next(self._requests))


def measure(load: Load) -> tuple[float, int]:
    """Send for the load's time; return acknowledged events per second, and their total number."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_send_all(load))


async def _send_all(load: Load) -> tuple[float, int]:
    requests = itertools.cycle(list(_requests(load)))
    now = time.perf_counter()
    tally = Tally(now + WARM_UP_SECONDS, now + WARM_UP_SECONDS + load.seconds)
    loop = asyncio.get_running_loop()
    connections = [
        await loop.create_connection(lambda: Sender(load, requests, tally), "127.0.0.1", load.port)
        for _ in range(load.connections)
    ]
    await asyncio.gather(*(sender.closed for _, sender in connections))
    if tally.failure:
        raise RuntimeError(tally.failure)
    return tally.measured / load.seconds, tally.acknowledged


def _requests(load: Load) -> Iterator[bytes]:
    for first in range(0, EVENTS_PREPARED, load.events_a_request):
        events = [_event(load, number) for number in range(first, first + load.events_a_request)]
        body = json.dumps({"batch": events}).encode()
        head = (
            "POST /api/v1/sdk/track HTTP/1.1\r\nHost: localhost\r\n"
            "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/126.0.0.0 Safari/537.36\r\n"
            "Content-Type: application/json\r\n"
            f"X-SDK-Key: {load.sdk_key}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        yield head.encode() + body


def _event(load: Load, number: int) -> dict[str, object]:
    return {
        "event_id": f"3f0c2a9e-1b2c-4d5e-8f90-{number:012d}",
        "type": "exposure",
        "visitor_id": f"visitor-{number:012d}",
        "experiment_id": load.experiment_id,
        "variant_id": load.variant_id,
        "url": f"https://shop.example/products/{number % 100}?utm_source=google&utm_medium=cpc",
        "attributes": {"country": "US", "visitor_type": "new"},
    }


if __name__ == "__main__":
    print(json.dumps(measure(Load(**json.loads(sys.argv[1])))))
