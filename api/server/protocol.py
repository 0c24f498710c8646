"""HTTP/1.1 connections with bounds on heads, slow bodies, idle time and unread answers."""

import asyncio
from enum import Enum
from functools import partial
from typing import Any, Final

from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from api.errors import RETRY_AFTER_SECONDS, ApiError, error_response
from api.middleware.answer_headers import REQUEST_ID
from api.middleware.answer_sender import WHOLE_ANSWERS
from api.server.connections import Connections
from api.server.direct_answers import AnswersDirectly, DirectAnswers
from api.server.request_parser import RequestParser
from api.server.whole_answers import answer_bytes, write_whole
from pipeline.store.catalog.ids import new_id

HEAD_SECONDS: Final = 10.0
MAX_HEAD_BYTES: Final = 2**16
MAX_TARGET_BYTES: Final = 2**13
MAX_HEADERS: Final = 100
# As long as a body is incomplete, so many bytes of it have to arrive in so many seconds.
BODY_SECONDS: Final = 10.0
BODY_BYTES: Final = 10 * 2**10
# A call for each part of a body and for each request takes time, so that many small ones would stop others.
FREE_PARTS: Final = 256
PART_BYTES: Final = 64
MAX_PIPELINED: Final = 16
# Longer than a proxy keeps a connection for another request, so that it does not send into a closed one: 60 s
# in nginx by default, http://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive_timeout
IDLE_SECONDS: Final = 75
# An answer of which nothing is read for so long is given up.
UNREAD_SECONDS: Final = 30.0


class Phase(Enum):
    """What is expected of the client, or of the service."""

    HEAD = "the head of a request"
    BODY = "its body"
    ANSWER = "the answer of the service"
    REST = "the rest of a body that is answered already"
    IDLE = "another request, or nothing"


# In all others, the next bytes are of a head; one may arrive while the request before is answered.
_IN_BODY: Final = (Phase.BODY, Phase.REST)


class RefusedError(Exception):
    """A request that is not read any further; the parser ends with it, and the connection with the parser."""


class BoundedProtocol(DirectAnswers):
    """A connection of uvicorn that is ended where its client is too slow or sends too much."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        open_connections: Connections,
        direct: AnswersDirectly | None = None,
    ) -> None:
        """Take uvicorn's arguments, the connections of which this is one, and what answers directly."""
        super().__init__(config, server_state, app_state, _loop, direct)
        self.parser = RequestParser(self)
        self._open = open_connections
        self._phase = Phase.HEAD
        self._deadline: float | None = None
        self._unread_deadline: float | None = None
        # Bytes since the last request, and of the present body since its time was extended.
        self._head_bytes = 0
        self._body_bytes = 0
        self._body_size = 0
        self._parts = 0
        # Whether a part of the next head is there.
        self._has_begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or answer 503 where there is no room."""
        super().connection_made(transport)  # type: ignore[arg-type] # as uvicorn declares it
        if self._open.open(self, self.client[0] if self.client else None):
            self.expect(Phase.HEAD, HEAD_SECONDS)
            return
        message = "too many connections are open; try again in a moment"
        self._refuse(ApiError("unavailable", message, headers={"Retry-After": str(RETRY_AFTER_SECONDS)}))

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place to another connection."""
        self._open.close(self)
        super().connection_lost(exc)

    def end(self) -> None:
        """Close the connection at once, whatever is still to be sent."""
        self.transport.abort()

    def end_if_late(self, now: float) -> None:
        """End the connection where its client is too slow; `now` is the loop's time."""
        if self.transport.is_closing() and self._unread_deadline is None:
            self._unread_deadline = now + UNREAD_SECONDS
        if self._unread_deadline is not None and self._unread_deadline < now:
            self.end()
        elif self.flow.read_paused:
            # The service does not read for now, so that the client cannot send.
            self._deadline = now + BODY_SECONDS
        elif self._deadline is not None and self._deadline < now:
            if self._phase is Phase.IDLE:
                self.transport.close()
            else:
                self.end()

    def data_received(self, data: bytes) -> None:
        """Parse what the client sends, as long as it keeps to the bounds."""
        if self.transport.is_closing():
            return
        if self._phase is Phase.IDLE:
            self.expect(Phase.HEAD, HEAD_SECONDS)
        if self._phase not in _IN_BODY:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MAX_HEAD_BYTES and self._phase not in _IN_BODY:
            self._refuse_head()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the same of every request
        """Answer what is no HTTP, unless the connection is refused already."""
        if not self.transport.is_closing():
            self._refuse(
                ApiError(
                    "invalid_request", "what was sent is no HTTP request, or none that the service takes"
                )
            )

    def on_message_begin(self) -> None:
        """Note that a head has begun."""
        self._has_begun = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers, which follow a chunked body, are none of the head and are ignored."""
        if self._phase in _IN_BODY:
            self._take_part(0)
            return
        if len(self.headers) >= MAX_HEADERS:
            self._refuse_head()
            raise RefusedError
        # As in uvicorn, whose method is not called, since there are several headers to every request.
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Start the request, unless its head is too large."""
        is_large = self._head_bytes > MAX_HEAD_BYTES and self._head_size() > MAX_HEAD_BYTES
        if is_large or len(self.url) > MAX_TARGET_BYTES:
            self._refuse_head()
            raise RefusedError
        # A tunnel is an upgrade by its method, which stays without the header.
        if len(self.pipeline) >= MAX_PIPELINED or self.parser.get_method() == b"CONNECT":
            raise RefusedError
        if self.parser.should_upgrade():
            return
        self._body_bytes = self._parts = self._body_size = 0
        self._has_begun = False
        self.expect(Phase.BODY, BODY_SECONDS)
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Start the request, whose answer can be taken whole."""
        if cycle.scope["method"] != "HEAD":
            cycle.scope["extensions"] = {WHOLE_ANSWERS: partial(write_whole, cycle)}  # type: ignore[dict-item] # an extension of our own
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body, and wait for the next as long as they are large enough."""
        self._take_part(len(body))
        self._body_bytes += len(body)
        if self._body_bytes >= BODY_BYTES and self._phase is Phase.BODY:
            self._body_bytes = 0
            self.expect(Phase.BODY, BODY_SECONDS)
        super().on_body(body)

    def _take_part(self, size: int) -> None:
        self._parts += 1
        self._body_size += size
        if self._parts > FREE_PARTS + self._body_size / PART_BYTES:
            raise RefusedError

    def on_message_complete(self) -> None:
        """Let the service work on the whole request."""
        if self.parser.should_upgrade():
            return
        self._head_bytes = 0
        if self._phase is Phase.REST:
            self.expect(Phase.IDLE, self.timeout_keep_alive)
        else:
            self._phase, self._deadline = Phase.ANSWER, None
            self._open.work_for(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of this one."""
        if self.pipeline:
            super().on_response_complete()
            return
        # Uvicorn would set a timer for each answer.
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
        self._open.wait_for(self)
        if self._phase is Phase.BODY:
            self.expect(Phase.REST, BODY_SECONDS)
        elif self._has_begun:
            self.expect(Phase.HEAD, HEAD_SECONDS)
        else:
            self.expect(Phase.IDLE, self.timeout_keep_alive)

    def pause_writing(self) -> None:
        """Wait until the client reads, and not for ever."""
        self._unread_deadline = self.loop.time() + UNREAD_SECONDS
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on, as the client has read."""
        self._unread_deadline = None
        super().resume_writing()

    def expect(self, phase: Phase, seconds: float) -> None:
        """Start a phase that the client has so many seconds to end."""
        self._phase, self._deadline = phase, self.loop.time() + seconds

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse_head(self) -> None:
        message = (
            f"the head of a request may have at most {MAX_HEAD_BYTES:,} bytes, of which {MAX_TARGET_BYTES:,} "
            f"are path and query, and {MAX_HEADERS} headers"
        )
        self._refuse(ApiError("payload_too_large", message))

    def _refuse(self, error: ApiError) -> None:
        """Answer in the envelope of all errors, and close the connection."""
        request_id = new_id("req")
        answer = error_response(error, request_id)
        answer.headers[REQUEST_ID] = request_id
        body = bytes(answer.body)
        self.transport.write(answer_bytes(answer.status_code, answer.raw_headers, body, keep_alive=False))
        self.transport.close()
