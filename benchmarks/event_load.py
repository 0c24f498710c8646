"""A load of events over raw sockets: as little work as can be, so that the service is what is measured.

Run with a load as JSON; prints events acknowledged per second, and how many they were, as a JSON array.
"""

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

WARM_UP_SECONDS = 1.0
# Bodies made beforehand and sent in turn; about as many events for either size.
EVENTS_PREPARED = 5_000


@dataclass(frozen=True, slots=True)
class Load:
    """What to send, and where."""

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

    acknowledged: int = 0
    measured: int = 0
    counts_from: float = 0.0
    ends_at: float = 0.0


def measure(load: Load) -> tuple[float, int]:
    """Send for the load's time; returns acknowledged events per second, and how many they were in all."""
    return asyncio.run(_send_all(load))


async def _send_all(load: Load) -> tuple[float, int]:
    now = time.perf_counter()
    tally = Tally(counts_from=now + WARM_UP_SECONDS, ends_at=now + WARM_UP_SECONDS + load.seconds)
    requests = itertools.cycle(list(_requests(load)))
    await asyncio.gather(*(_send_on_one(load, requests, tally) for _ in range(load.connections)))
    return tally.measured / load.seconds, tally.acknowledged


async def _send_on_one(load: Load, requests: Iterator[bytes], tally: Tally) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    while time.perf_counter() < tally.ends_at:
        writer.write(next(requests))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode())
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        tally.acknowledged += load.events_a_request
        if tally.counts_from <= time.perf_counter() < tally.ends_at:
            tally.measured += load.events_a_request
    writer.close()


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
