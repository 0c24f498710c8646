"""Small requests answered directly: without a cycle, a task or messages of ASGI."""

import asyncio
from collections.abc import Set as AbstractSet
from typing import Any, Final, Protocol

from starlette.types import Scope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from api.middleware.answer_headers import RawHeaders
from api.server.whole_answers import answer_bytes

# Work on a larger body is done in parts, between which others are served.
MAX_DIRECT_BYTES: Final = 2**13
# Of requests for which more has to be done than to read a whole body.
_INDIRECT: Final = frozenset({b"authorization", b"content-encoding", b"expect", b"transfer-encoding"})


class DirectExchange:
    """A request that is answered directly, with what uvicorn asks of the cycle of a request."""

    __slots__ = ("_connection", "disconnected", "keep_alive", "message_event", "response_complete")

    def __init__(self, connection: "DirectAnswers", *, keep_alive: bool) -> None:
        """Answer over `connection`, which stays open with `keep_alive`."""
        self._connection = connection
        self.keep_alive = keep_alive
        self.disconnected = False
        self.response_complete = False
        self.message_event = _NEVER_AWAITED

    def answer(self, status: int, headers: RawHeaders, body: bytes) -> None:
        """Send the whole answer, whose headers have its length, unless the client has left."""
        if self.disconnected:
            return
        connection = self._connection
        self.response_complete = True
        all_headers = (*connection.server_state.default_headers, *headers)
        connection.transport.write(answer_bytes(status, all_headers, body, keep_alive=self.keep_alive))
        if not self.keep_alive:
            connection.transport.close()
        connection.on_response_complete()


class AnswersDirectly(Protocol):
    """An application of requests that are whole at once."""

    @property
    def raw_paths(self) -> AbstractSet[bytes]:
        """Paths whose POST requests are answered."""

    def answer(
        self, scope: Scope, body: bytes, exchange: DirectExchange, tasks: set[asyncio.Task[None]]
    ) -> None:
        """Answer a request, now or later; a task that this needs is among `tasks`."""


class DirectAnswers(HttpToolsProtocol):
    """A connection of uvicorn that has small requests answered directly.

    These are whole in one read from the network, and the first in it, while no other is being answered.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None,
        direct: AnswersDirectly | None,
    ) -> None:
        """Take uvicorn's arguments, and what answers directly."""
        super().__init__(config, server_state, app_state, _loop)
        # What else uvicorn does with a request is left to it.
        is_plain = not (self.access_log or self.root_path or self.limit_concurrency)
        self._direct = direct if is_plain else None
        self._may_be_direct = False
        # The body so far, of a request that may be answered directly.
        self._held: bytes | None = None

    def data_received(self, data: bytes) -> None:
        """Parse what the client sends; what is not whole yet goes the usual way."""
        self._may_be_direct = self._direct is not None and not self.flow.write_paused
        super().data_received(data)
        if self._held is not None and not self.transport.is_closing():
            self._release()

    def on_headers_complete(self) -> None:
        """Hold a request that may be answered directly, and start any other one."""
        if self._may_be_direct and self._is_direct():
            self._held = b""
        else:
            super().on_headers_complete()
        self._may_be_direct = False

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        if self._held is not None:
            self._held += body
            if len(self._held) > MAX_DIRECT_BYTES:
                self._release()
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Answer a request that was held, now that it is whole."""
        body, self._held = self._held, None
        if body is None or self._direct is None:
            super().on_message_complete()
            return
        path, _, query = self.url.partition(b"?")
        scope: Scope = self.scope  # type: ignore[assignment] # as uvicorn declares it
        scope.update(method="POST", path=path.decode(), raw_path=path, query_string=query)
        exchange = DirectExchange(self, keep_alive=self.parser.should_keep_alive())
        self.cycle = exchange  # type: ignore[assignment] # which has what uvicorn asks of it
        self._direct.answer(scope, body, exchange, self.tasks)

    def _is_direct(self) -> bool:
        return (
            self._direct is not None
            and self.url.partition(b"?")[0] in self._direct.raw_paths
            and b"#" not in self.url
            and self.parser.get_method() == b"POST"
            and self.parser.get_http_version() == "1.1"
            and (self.cycle is None or self.cycle.response_complete)
            and _INDIRECT.isdisjoint(dict(self.headers))
        )

    def _release(self) -> None:
        """Start a request that was held, with what has arrived of its body."""
        body, self._held = self._held, None
        super().on_headers_complete()
        super().on_body(body or b"")


# Uvicorn sets the event of a request whose client leaves.
_NEVER_AWAITED: Final = asyncio.Event()
