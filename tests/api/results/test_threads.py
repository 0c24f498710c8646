"""Threads and time limit of results readers."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from api.results.threads import ResultsThreads
from pipeline.settings import Settings
from pipeline.store.warehouse.connections.errors import TimeLimitError
from tests.api.request_bodies import error_of
from tests.api.shops import Shop


@contextmanager
def threads(number: int, seconds: float = 60.0) -> Iterator[ResultsThreads]:
    opened = ResultsThreads(Settings(results_threads=number, results_seconds=seconds))
    yield opened
    opened.close()


def test_a_project_leaves_half_of_the_threads_to_the_others() -> None:
    release = threading.Event()

    async def read(results: ResultsThreads) -> None:
        slow = [asyncio.create_task(results.run("slow", lambda: release.wait(60))) for _ in range(10)]
        assert await results.run("quick", lambda: "answer") == "answer"
        release.set()
        assert await asyncio.gather(*slow) == [True] * 10

    with threads(2) as results:
        asyncio.run(read(results))


def test_waiting_for_a_thread_counts_towards_the_time_limit() -> None:
    release = threading.Event()

    async def read(results: ResultsThreads) -> None:
        slow = asyncio.create_task(results.run("shop", lambda: release.wait(60)))
        await asyncio.sleep(0)
        with pytest.raises(TimeLimitError):
            await results.run("shop", lambda: None)
        with pytest.raises(TimeLimitError):
            await slow
        release.set()
        assert await read_again(results) == "again"

    with threads(1, seconds=0.2) as results:
        asyncio.run(read(results))


async def read_again(results: ResultsThreads) -> str:
    """Read until the thread is free in time."""
    while True:
        with suppress(TimeLimitError):
            return await results.run("shop", lambda: "again")


@pytest.mark.parametrize("part", ["", "/summary", "/timeseries", "/segments", "/export?format=csv"])
def test_results_that_take_too_long_are_answered_in_the_envelope(
    shop: Shop, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.post("/api/v1/sdk/track", {"batch": [shop.exposure("e1", visitor_id="v1")]})
    path = f"/projects/{shop.project_id}/experiments/{shop.experiment['id']}/results{part}"
    assert shop.customer.get(path).status_code == 200
    # The answer that is kept does not hold any more.
    shop.post("/api/v1/sdk/track", {"batch": [shop.exposure("e2", visitor_id="v2")]})
    monkeypatch.setattr(shop.customer.services.results_threads, "_seconds", 1e-6)
    answer = shop.customer.get(path)
    assert "too long" in error_of(answer, 503, "unavailable")["message"]
    assert int(answer.headers["Retry-After"]) > 0
    assert shop.customer.client.get("/readyz").status_code == 200
