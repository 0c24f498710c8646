"""Load of one request, repeated on many connections: as little work as possible.

Run with a load as JSON; prints the requests answered per second, and the median and the 99th percentile of
the seconds that an answer took, as a JSON array.
"""

import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import uvloop

WARM_UP_SECONDS = 1.0
# Without a body.
NOT_MODIFIED = b"HTTP/1.1 304"
LENGTH = re.compile(rb"(?i)content-length: (\d+)")


@dataclass(frozen=True, slots=True)
class Load:
    """The request to send, and the port to send it to."""

    port: int
    request: str
    connections: int
    seconds: float


@dataclass(slots=True)
class Tally:
    """Seconds of each answer within the measured time."""

    counts_from: float
    ends_at: float
    seconds: list[float] = field(default_factory=list)
    failure: str | None = None


class Sender(asyncio.Protocol):
    """One connection: sends the request again when it is answered, until the time is over."""

    def __init__(self, request: bytes, tally: Tally) -> None:
        """Send `request`, and record the answers in `tally`."""
        self._request = request
        self._tally = tally
        self._answer = b""
        self._sent_at = 0.0
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        """Record the answer, and send the request again."""
        self._answer += data
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if not separator:
            return
        is_empty = head.startswith(NOT_MODIFIED)
        if not is_empty and not head.startswith(b"HTTP/1.1 2"):
            self._tally.failure = self._answer.decode()
            self._transport.close()
            return
        length = LENGTH.search(head)
        if not is_empty and (length is None or len(body) < int(length[1])):
            return
        now = time.perf_counter()
        if self._tally.counts_from <= now < self._tally.ends_at:
            self._tally.seconds.append(now - self._sent_at)
        if now < self._tally.ends_at:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Mark this connection as done."""
        self.closed.set_result(None)

    def _send(self) -> None:
        self._answer = b""
        self._sent_at = time.perf_counter()
        self._transport.write(self._request)


async def _send_all(load: Load) -> Tally:
    now = time.perf_counter()
    tally = Tally(now + WARM_UP_SECONDS, now + WARM_UP_SECONDS + load.seconds)
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Sender(load.request.encode(), tally), "127.0.0.1", load.port)
        for _ in range(load.connections)
    ]
    await asyncio.gather(*(sender.closed for _, sender in made))
    if tally.failure:
        raise RuntimeError(tally.failure)
    return tally


def measure(load: Load) -> tuple[float, float, float]:
    """Send for the load's time; return answers per second, and the median and 99th percentile in seconds."""
    tally = uvloop.run(_send_all(load))
    median, slowest = np.percentile(tally.seconds, [50, 99])
    return len(tally.seconds) / load.seconds, float(median), float(slowest)


if __name__ == "__main__":
    print(json.dumps(measure(Load(**json.loads(sys.argv[1])))))
