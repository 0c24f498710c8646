"""Threads and time limit of results readers, so that slow results keep no other request waiting."""

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, TypeVar, get_origin, get_type_hints
from weakref import WeakValueDictionary

from fastapi import Request, Response
from pydantic import TypeAdapter

from api.responses import as_response
from pipeline.settings import Settings
from pipeline.store.warehouse.connections.cursors import time_limit
from pipeline.store.warehouse.connections.errors import TimeLimitError

T = TypeVar("T")


class ResultsThreads:
    """Pool of threads for results; one project gets at most half of them."""

    def __init__(self, settings: Settings) -> None:
        """Take the number of threads and the time limit of the settings."""
        self._seconds = settings.results_seconds
        self._a_project = max(1, settings.results_threads // 2)
        self._executor = ThreadPoolExecutor(settings.results_threads, thread_name_prefix="results")
        # A project's share is gone once none of its readers holds it or waits for it.
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def run(self, project_id: str, work: Callable[[], T]) -> T:
        """Run work in a thread; TimeLimitError where waiting and running exceed the time limit."""
        until = time.monotonic() + self._seconds
        share = self._shares.setdefault(project_id, asyncio.Semaphore(self._a_project))
        try:
            async with asyncio.timeout(self._seconds):
                await share.acquire()
                future = self._executor.submit(copy_context().run, _run_until, until, work)
                future.add_done_callback(partial(_release, share, asyncio.get_running_loop()))
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            raise TimeLimitError from error

    def close(self) -> None:
        """Start nothing more, and wait for the running work."""
        self._executor.shutdown(wait=True, cancel_futures=True)


def on_results_threads(endpoint: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Response]]:
    """Run an endpoint with a parameter `project`, and serialize its result, on the threads of results."""
    answer_type = get_type_hints(endpoint, include_extras=True)["return"]
    is_response = issubclass(get_origin(answer_type) or answer_type, Response)
    adapter = None if is_response else TypeAdapter(answer_type)

    @wraps(endpoint)
    async def answer(*, request: Request, **arguments: Any) -> Response:  # noqa: ANN401 - the endpoint's
        threads: ResultsThreads = request.app.state.services.results_threads
        return await threads.run(arguments["project"].id, lambda: as_response(endpoint(**arguments), adapter))

    return with_request(endpoint, answer)


def with_request(
    endpoint: Callable[..., Any], answer: Callable[..., Coroutine[Any, Any, Response]]
) -> Callable[..., Coroutine[Any, Any, Response]]:
    """Give `answer` the signature of `endpoint`, as keywords, and the parameter `request`."""
    signature = inspect.signature(endpoint)
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in signature.parameters.values()
    ]
    request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)
    answer.__signature__ = signature.replace(parameters=[*parameters, request])  # type: ignore[attr-defined] # inspect's protocol
    return answer


def _run_until(until: float, work: Callable[[], T]) -> T:
    with time_limit(until - time.monotonic()):
        return work()


def _release(share: asyncio.Semaphore, loop: asyncio.AbstractEventLoop, _done: "Future[Any]") -> None:
    # The loop may be closed by now.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(share.release)
