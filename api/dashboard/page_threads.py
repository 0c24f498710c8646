"""Threads of pages: few, so that large forms and pages leave the other threads to other requests."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from anyio import to_thread
from starlette.requests import Request

from api.services import Services

T = TypeVar("T")


async def on_page_thread(request: Request, work: Callable[..., T], *given: Any, **named: Any) -> T:  # noqa: ANN401 - the work's
    """Do the work of a page, which takes longer than a turn of the event loop may last."""
    services: Services = request.app.state.services
    return await to_thread.run_sync(partial(work, *given, **named), limiter=services.page_threads)
