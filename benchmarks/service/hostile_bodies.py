"""Latency of other requests while a stranger sends hostile bodies, against the same service left alone.

A probe asks for `/healthz` again and again; once a second another connection sends one body with the public
key, which every page of a site shows. They are sent from this process, and the service has one of its own.
"""

import asyncio
import gzip
import itertools
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from rich import print as show

from benchmarks.service.serving import served
from benchmarks.service.sites import Site, a_site, serve_site

SECONDS: Final = float(os.environ.get("BENCH_BODIES_SECONDS", "5"))
PROBE_SECONDS: Final = 0.005
GOAL_MS: Final = 50
MIB: Final = 2**20
PROBE: Final = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def run() -> list[dict[str, Any]]:
    """Measure the probe's median, 99th percentile and maximum: alone, and with each body once a second."""
    with tempfile.TemporaryDirectory() as folder:
        site = a_site(Path(folder))
        with served(serve_site, site.data_dir) as port:
            asyncio.run(_probed(port, None))
            alone = asyncio.run(_probed(port, None))
            rows = [_row("no other request", 0, alone, alone)]
            for name, body in _bodies(site).items():
                found = asyncio.run(_probed(port, _request(site, body)))
                rows.append(_row(name, len(body), found, alone))
    return rows


def _bodies(site: Site) -> dict[str, bytes]:
    """Make the bodies: those of 10 KB as sent first, then those of the largest size."""
    event = {
        "event_id": "e",
        "type": "exposure",
        "visitor_id": "v",
        "experiment_id": site.experiment_id,
        "variant_id": site.variant_id,
        "url": "https://shop.example/",
    }
    dimensions = {f"key{number}": "value" * 5 for number in range(50)}
    large = [{**event, "event_id": f"e{number}", "attributes": dimensions} for number in range(500)]
    plain = {
        "500 events of 2 KB": json.dumps({"batch": large}).encode(),
        "lists in lists": b'{"batch":' + b"[" * (MIB - 10),
        "350,000 empty events": b'{"batch":[' + b"{}," * (MIB // 3 - 5) + b"{}]}",
        "one event of empty objects": b'{"batch":[{"a":[' + b"{}," * (MIB // 3 - 9) + b"{}]}]}",
        "escapes without an end": b'{"batch":["' + b"\\n" * (MIB // 2 - 10),
        "half surrogate pairs": b'{"batch":["' + b"\\ud800" * (MIB // 6 - 9) + b'"]}',
        "a repeated member": b'{"batch":[]' + b',"a":0' * (MIB // 6 - 9) + b"}",
        "one number": b'{"batch":[' + b"9" * (MIB - 99) + b"]}",
        "one text": b'{"batch":["' + b"x" * (MIB - 99) + b'"]}',
    }
    bombs = {
        "10 MiB of zeros": b"\0" * 10 * MIB,
        "10 MiB of empty events": b'{"batch":[' + b"{}," * (10 * MIB // 3 - 9) + b"{}]}",
    }
    small = {f"{name}, compressed": gzip.compress(body) for name, body in {**plain, **bombs}.items()}
    return {**small, **plain}


def _request(site: Site, body: bytes) -> bytes:
    encoding = "Content-Encoding: gzip\r\n" if body.startswith(b"\x1f\x8b") else ""
    head = (
        f"POST /api/v1/sdk/track HTTP/1.1\r\nHost: localhost\r\nX-SDK-Key: {site.sdk_key}\r\n"
        f"{encoding}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


async def _probed(port: int, hostile: bytes | None) -> list[float]:
    """Probe for some seconds; return the time of each answer in ms, in order of length."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    attack = asyncio.create_task(_sent_each_second(port, hostile)) if hostile else None
    times = []
    ends = time.perf_counter() + SECONDS
    while (begun := time.perf_counter()) < ends:
        writer.write(PROBE)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.split(b":")[1]))
        times.append(1000 * (time.perf_counter() - begun))
        await asyncio.sleep(PROBE_SECONDS)
    writer.close()
    if attack:
        attack.cancel()
    return sorted(times)


async def _sent_each_second(port: int, request: bytes) -> None:
    for number in itertools.count():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        if number == 0 and not answer.startswith(b"HTTP/1.1 "):
            raise RuntimeError("the service did not answer")
        await asyncio.sleep(1)


def _row(name: str, size: int, found: list[float], alone: list[float]) -> dict[str, Any]:
    p99 = found[int(0.99 * len(found))]
    return {
        "body once a second": name,
        "KB as sent": f"{size / 1000:,.0f}",
        "median ms": f"{found[len(found) // 2]:.1f}",
        "p99 ms": f"{p99:.1f}",
        "longest ms": f"{found[-1]:.0f}",
        "p99 to alone": f"{p99 / alone[int(0.99 * len(alone))]:.1f}",
        "goal": f"p99 within {GOAL_MS} ms of alone",
        "met": "yes" if p99 - alone[int(0.99 * len(alone))] <= GOAL_MS else "no",
    }


if __name__ == "__main__":
    for line in run():
        show(line)
