"""Direct answers to small requests with events: the work of any other, without the framework around it."""

import asyncio
from collections.abc import Iterable
from typing import Final

from starlette.types import Message, Scope

from api import logs
from api.middleware.answer_headers import RawHeaders, request_id_header, with_headers
from api.middleware.answer_sender import added_headers
from api.middleware.cors import PATHS
from api.middleware.outer_middleware import answer_to_failure, read_head
from api.middleware.proxies import Network, TrustedProxies
from api.middleware.request_counts import RequestCounts
from api.sdk.endpoints import response_of
from api.sdk.track import answer_events
from api.server.direct_answers import DirectExchange
from pipeline.taskless import run

RAW_PATHS: Final = frozenset({f"{PATHS}track".encode()})


class DirectEvents:
    """Answers requests of browsers with events, each in callbacks of the event loop."""

    raw_paths = RAW_PATHS

    def __init__(self, app: object, networks: Iterable[Network], counts: RequestCounts) -> None:
        """Answer for an application, believe proxies in `networks`, and add the answers to `counts`."""
        self._app = app
        self._proxies = TrustedProxies(networks)
        self._counts = counts

    def answer(
        self, scope: Scope, body: bytes, exchange: DirectExchange, tasks: set[asyncio.Task[None]]
    ) -> None:
        """Answer a request, once its events are on disk."""
        scope["app"] = self._app
        run(self._answer_to(scope, body), lambda answer: exchange.answer(*answer), tasks)

    async def _answer_to(self, scope: Scope, body: bytes) -> tuple[int, RawHeaders, bytes]:
        logs.request_id.set(read_head(scope, self._proxies))

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        try:
            response = await response_of(answer_events, scope, receive)
            own = response.raw_headers
            added = added_headers(scope["state"], own, is_private=True, is_open=True)
        except Exception as error:  # noqa: BLE001 - logged
            response = answer_to_failure(scope, error)
            own, added = response.raw_headers, [request_id_header(scope["state"]["request_id"])]
        self._counts.count(scope, response.status_code)
        return response.status_code, with_headers(own, added), bytes(response.body)
