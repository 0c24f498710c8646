"""Pauses of the event loop at the largest inputs of every route, beside those of a bare endpoint.

The service has a process of its own, whose loop notes the longest time between two of its beats. The bare
endpoint of the same process reads as many bytes as a request has, and answers as many as its answer.
"""

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import httpx2
import uvicorn
from rich import print as show
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.app import create_app
from api.server.config import server_config
from benchmarks.service.serving import served
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from tests.api.largest.largest_requests import LargestRequest, largest_requests
from tests.api.largest.senders import READING, Senders

ROUNDS: Final = int(os.environ.get("BENCH_LARGEST_ROUNDS", "3"))
# Part of a route, such as `/experiments`, to measure those alone.
ROUTES: Final = os.environ.get("BENCH_LARGEST_ROUTES", "")
BEAT_SECONDS: Final = 0.001
GOAL_MS: Final = 10


class Beat:
    """The longest pause between two beats of a loop, and its most processor time between two, in ms."""

    def __init__(self) -> None:
        """Wait for the first request, which runs in the loop."""
        self._task: asyncio.Task[None] | None = None
        self._longest = (0.0, 0.0)

    async def answer(self, _: Request) -> Response:
        """Answer with the longest pause since the last request, and begin anew."""
        if self._task is None:
            self._task = asyncio.create_task(self._go_on())
        await asyncio.sleep(5 * BEAT_SECONDS)
        longest, self._longest = self._longest, (0.0, 0.0)
        return Response(json.dumps(longest))

    async def _go_on(self) -> None:
        before, worked = time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            now, works = time.perf_counter(), time.thread_time()
            pause, work = 1000 * (now - before - BEAT_SECONDS), 1000 * (works - worked)
            self._longest = max(self._longest[0], pause), max(self._longest[1], work)
            before, worked = now, works


async def _answer_bare(request: Request) -> Response:
    await request.body()
    return Response(b"x" * int(request.query_params["bytes"]))


def serve_observed(port: int, data_dir: Path) -> None:
    """Serve a store, with the pauses of the loop at `/pauses` and the bare endpoint at `/bare`."""
    settings = Settings(data_dir=data_dir, base_url=f"http://127.0.0.1:{port}")
    app = create_app(settings)
    app.router.routes[:0] = [
        Route("/pauses", Beat().answer),
        Route("/bare", _answer_bare, methods=["POST"]),
    ]
    uvicorn.Server(server_config(app, settings, port=port)).run()


def run() -> list[dict[str, Any]]:
    """Measure the longest pause of each route, the least of some rounds, and that of the bare endpoint."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = _keys_of_a_store(Path(folder))
        with (
            served(serve_observed, Path(folder)) as port,
            httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
        ):
            senders = Senders(client, token=tokens[0], reading_token=tokens[1])
            ids = senders.created_ids()
            requests = list(largest_requests(create_app(Settings(data_dir=Path(folder))), ids))
            rows = [_row(client, senders, request) for request in requests if ROUTES in request.route]
    return sorted(_longest_of_routes(rows), key=lambda row: -float(row["pause ms"]))


def _keys_of_a_store(data_dir: Path) -> tuple[str, str]:
    with open_pipeline(Settings(data_dir=data_dir)) as store:
        account, member, token = store.catalog.accounts.create("Bench", "bench@example.com", "scale")
        store.catalog.accounts.update(account.id, rate_limit=10**6)
        return token, store.catalog.keys.create(account.id, member.id, "Reader", READING)[1]


def _row(client: httpx2.Client, senders: Senders, request: LargestRequest) -> dict[str, Any]:
    # The first one builds what later ones find.
    senders.send(request)
    found = []
    for _ in range(ROUNDS):
        client.get("/pauses")
        status, content = senders.send(request)
        found.append(_pause(client))
    bare = []
    for _ in range(ROUNDS):
        client.get("/pauses")
        client.post(f"/bare?bytes={len(content)}", content=request.content)
        bare.append(_pause(client))
    (pause, worked), (limit, _) = min(found), min(bare)
    return {
        "route": f"{request.method} {request.route} ({request.sender})",
        "status": status,
        "KB sent": f"{len(request.content) / 1000:,.0f}",
        "KB answered": f"{len(content) / 1000:,.0f}",
        "pause ms": f"{pause:.1f}",
        "processor ms of the loop": f"{worked:.1f}",
        "bare ms": f"{limit:.1f}",
        "goal": f"{GOAL_MS} ms more than bare",
        "met": "yes" if pause <= limit + GOAL_MS else "no",
    }


def _pause(client: httpx2.Client) -> tuple[float, float]:
    longest, worked = client.get("/pauses").json()
    return longest, worked


def _longest_of_routes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep the request of each route and sender with the longest pause."""
    longest: dict[str, dict[str, Any]] = {}
    for row in rows:
        known = longest.get(row["route"])
        if known is None or float(known["pause ms"]) < float(row["pause ms"]):
            longest[row["route"]] = row
    return list(longest.values())


if __name__ == "__main__":
    for line in run():
        show(line)
