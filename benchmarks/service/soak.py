"""Soak of the service as shipped: half of its capacity for minutes, with its memory and latency over time.

Browsers send events and ask for variants, and a team reads results, while the service counts and writes
snapshots. The peer is the service itself, at the end of its warm-up: memory that grows, or answers that slow
down, show as a ratio above 1. `python benchmarks/service/soak.py MINUTES`.
"""

import asyncio
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from rich import print as show

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.service.serving import free_port, wait_until_ready

COMMAND = str(Path(sys.executable).with_name("truelift"))
CAPACITY_SECONDS = 20.0
SENDERS = 8
EVENTS_A_REQUEST = 50
READERS = 2
# The first part of the time is warm-up: caches, buffers and the first snapshot.
WARM_UP_SHARE = 0.3
INTERVALS = {"TRUELIFT_SNAPSHOT_SECONDS": "120", "TRUELIFT_REFRESH_SECONDS": "30"}


@dataclass(frozen=True, slots=True)
class Shop:
    """A project with a running experiment on a service, and the keys to both."""

    base_url: str
    process_id: int
    token: str
    project_id: str
    sdk_key: str
    experiment_id: str
    variant_ids: tuple[str, ...]

    @property
    def public_key(self) -> dict[str, str]:
        """Return the header of a browser."""
        return {"X-SDK-Key": self.sdk_key}


@dataclass(slots=True)
class Tally:
    """Answers of a soak: time since its start and seconds of each, by kind; failures by status."""

    started: float = field(default_factory=time.perf_counter)
    answers: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    memory: list[tuple[float, float]] = field(default_factory=list)

    def add(self, kind: str, sent_at: float, status: int) -> None:
        """Record one answer."""
        now = time.perf_counter()
        self.answers.setdefault(kind, []).append((now - self.started, now - sent_at))
        if status != httpx2.codes.OK:
            name = f"{kind}: {status}"
            self.failures[name] = self.failures.get(name, 0) + 1


@dataclass(frozen=True, slots=True)
class Soaking:
    """Load in progress, until a time of the performance counter."""

    client: httpx2.AsyncClient
    shop: Shop
    tally: Tally
    until: float

    @property
    def goes_on(self) -> bool:
        """Tell whether the time is not over."""
        return time.perf_counter() < self.until


def run(minutes: float) -> list[dict[str, Any]]:
    """Measure the capacity, then send half of it for `minutes`; return a row per quantity."""
    with tempfile.TemporaryDirectory() as folder, _a_shop(Path(folder)) as shop:
        capacity = asyncio.run(_send(shop, CAPACITY_SECONDS, requests_a_second=None))
        rate = len(capacity.answers["track"]) / CAPACITY_SECONDS
        soak = asyncio.run(_send(shop, minutes * 60, requests_a_second=rate / 2))
    return [*_rows(soak, minutes * 60), {"what": "capacity, events/s", "end": round(rate * EVENTS_A_REQUEST)}]


def _rows(tally: Tally, seconds: float) -> Iterator[dict[str, Any]]:
    def parts(found: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
        warm, end = WARM_UP_SHARE * seconds, (1 - WARM_UP_SHARE) * seconds
        return [one for at, one in found if warm <= at < seconds / 2], [one for at, one in found if at >= end]

    before, after = (float(np.median(part)) for part in parts(tally.memory))
    yield {
        "what": "memory, MB",
        "warm": round(before),
        "end": round(after),
        "ratio": round(after / before, 2),
    }
    for kind, found in tally.answers.items():
        slowest = [float(np.percentile(part, 99)) * 1000 for part in parts(found)]
        what = f"{kind}, p99 ms of {len(found):,}"
        yield {
            "what": what,
            "warm": round(slowest[0], 1),
            "end": round(slowest[1], 1),
            "ratio": round(slowest[1] / slowest[0], 2),
        }
    yield {"what": "failures", "end": tally.failures or 0}


async def _send(shop: Shop, seconds: float, *, requests_a_second: float | None) -> Tally:
    """Send events for `seconds`, at a rate or as fast as answers come, beside visits and reads."""
    tally, numbers = Tally(), itertools.count(time.time_ns())
    pause = 0.0 if requests_a_second is None else SENDERS / requests_a_second
    until = tally.started + seconds
    async with httpx2.AsyncClient(base_url=shop.base_url, timeout=60) as client:
        soaking = Soaking(client, shop, tally, until)
        senders = [_track(soaking, numbers, pause) for _ in range(SENDERS)]
        readers = [_read(soaking) for _ in range(READERS)]
        await asyncio.gather(*senders, *readers, _visit(soaking), _watch(soaking))
    return tally


async def _track(soaking: Soaking, numbers: Iterator[int], pause: float) -> None:
    shop, due = soaking.shop, time.perf_counter()
    while soaking.goes_on:
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        # A sender that is a second late does not catch up, which would be more than the rate.
        due = max(due + pause, time.perf_counter() - 1)
        sent_at = time.perf_counter()
        body = {"batch": [_event(shop, next(numbers)) for _ in range(EVENTS_A_REQUEST)]}
        answer = await soaking.client.post("/api/v1/sdk/track", json=body, headers=shop.public_key)
        soaking.tally.add("track", sent_at, answer.status_code)


async def _visit(soaking: Soaking) -> None:
    numbers = itertools.count()
    while soaking.goes_on:
        sent_at = time.perf_counter()
        body = {"visitor_id": f"visit-{next(numbers)}"}
        answer = await soaking.client.post("/api/v1/sdk/init", json=body, headers=soaking.shop.public_key)
        soaking.tally.add("init", sent_at, answer.status_code)
        await asyncio.sleep(0.1)


async def _read(soaking: Soaking) -> None:
    shop = soaking.shop
    path = f"/api/v1/projects/{shop.project_id}/experiments/{shop.experiment_id}/results"
    while soaking.goes_on:
        sent_at = time.perf_counter()
        answer = await soaking.client.get(path, headers={"Authorization": f"Bearer {shop.token}"})
        soaking.tally.add("results", sent_at, answer.status_code)
        await asyncio.sleep(2)


async def _watch(soaking: Soaking) -> None:
    tally = soaking.tally
    while soaking.goes_on:
        tally.memory.append((time.perf_counter() - tally.started, _megabytes(soaking.shop.process_id)))
        await asyncio.sleep(1)


def _megabytes(process_id: int) -> float:
    """Read the resident memory of a process."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def _event(shop: Shop, number: int) -> dict[str, Any]:
    visitor = {"event_id": f"e{number}", "visitor_id": f"v{number // 3}"}
    if number % 3:
        return {**visitor, "type": "custom_event", "event_name": "purchase", "value": 12.5}
    variant = shop.variant_ids[number // 3 % len(shop.variant_ids)]
    attributes = {"country": ("US", "DE", "FR")[number % 7 % 3]}
    exposed = {"type": "exposure", "experiment_id": shop.experiment_id, "variant_id": variant}
    return {**visitor, **exposed, "attributes": attributes}


@contextmanager
def _a_shop(folder: Path) -> Iterator[Shop]:
    made = ["init", "--data-dir", str(folder), "--account", "Soak", "--email", "soak@x.example"]
    account = json.loads(subprocess.check_output([COMMAND, *made, "--plan", "scale", "--json"]))
    port = free_port()
    serve = [COMMAND, "serve", "--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(serve, env={**os.environ, **INTERVALS}) as service:
        try:
            wait_until_ready(port)
            yield _opened(f"http://127.0.0.1:{port}", service.pid, account["token"])
        finally:
            service.terminate()


def _opened(base_url: str, process_id: int, token: str) -> Shop:
    headers = {"Authorization": f"Bearer {token}"}
    draft = {
        "name": "Checkout",
        "variants": [{"name": "Control", "is_control": True}, {"name": "One page"}],
        "goals": [{"name": "Order", "goal_type": "revenue", "config": {}}],
    }
    with httpx2.Client(base_url=f"{base_url}/api/v1", headers=headers) as client:
        fields = {"name": "Shop", "url": "https://shop.example"}
        project = client.post("/projects", json=fields).raise_for_status().json()["data"]
        experiments = f"/projects/{project['id']}/experiments"
        experiment = client.post(experiments, json=draft).raise_for_status().json()["data"]
        client.post(f"{experiments}/{experiment['id']}/start").raise_for_status()
    variants = tuple(variant["id"] for variant in experiment["variants"])
    return Shop(base_url, process_id, token, project["id"], project["api_key"], experiment["id"], variants)


if __name__ == "__main__":
    for line in run(float(sys.argv[1]) if sys.argv[1:] else 10):
        show(line)
