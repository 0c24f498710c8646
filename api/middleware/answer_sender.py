"""Answers as they leave the application: with the headers of all, and in one piece where that is possible."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from starlette.types import Message, Scope, Send

from api.middleware import cors
from api.middleware.answer_headers import RawHeaders, request_id_header, set_headers
from api.middleware.rate_limits import Window

# Answers under these paths depend on the key of the request.
PRIVATE: Final = ("/api/", "/mcp/")
CACHE_CONTROL: Final = b"cache-control"
# Keeps an answer out of every cache.
NO_STORE: Final = (CACHE_CONTROL, b"no-store")
# An extension of the scope, by which a server takes status, headers and the whole body of an answer at once.
WHOLE_ANSWERS: Final = "truelift.whole_answers"
WriteWhole: TypeAlias = Callable[[int, RawHeaders, bytes], Awaitable[None]]


class AnswerSender:
    """ASGI `send` of one request: adds headers, and joins the head of an answer with its only part."""

    __slots__ = (
        "_is_bare",
        "_is_open",
        "_is_private",
        "_send",
        "_start",
        "_state",
        "_whole",
        "has_started",
        "status",
    )

    def __init__(self, scope: Scope, send: Send) -> None:
        """Send the answer to the request of a scope, whose state has its id."""
        self._send = send
        self._state: dict[str, Any] = scope["state"]
        self._is_bare = False
        self._is_private = scope["path"].startswith(PRIVATE)
        self._is_open = scope["path"].startswith(cors.OPEN_PATHS)
        extensions = scope.get("extensions")
        self._whole: WriteWhole | None = extensions and extensions.get(WHOLE_ANSWERS)
        # The head, which waits for the first part of the body.
        self._start: Message | None = None
        # Whether a part of the answer is sent.
        self.has_started = False
        # Of the answer, once it begins; 0 of one that never did.
        self.status = 0

    def bare(self) -> "AnswerSender":
        """Add no header but the id from now on."""
        self._is_bare = True
        return self

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            set_headers(message, self._headers(message))
            if self._whole is not None and _has_length(message["headers"]):
                self._start = message
                return
        self.has_started = True
        if self._start is not None:
            start, self._start = self._start, None
            if self._whole is not None and not message.get("more_body"):
                await self._whole(start["status"], start["headers"], message.get("body", b""))
                return
            await self._send(start)
        await self._send(message)

    def _headers(self, start: Message) -> list[tuple[bytes, bytes]]:
        if self._is_bare:
            return [request_id_header(self._state["request_id"])]
        return added_headers(
            self._state, start["headers"], is_private=self._is_private, is_open=self._is_open
        )


def added_headers(
    state: Mapping[str, Any], own: RawHeaders, *, is_private: bool, is_open: bool
) -> list[tuple[bytes, bytes]]:
    """List the headers that every answer to a request of this state has beside its `own`."""
    headers = list[tuple[bytes, bytes]]()
    window: Window | None = state.get("window")
    if window is not None:
        headers.extend(window.headers)
    # A route may say otherwise.
    if is_private and CACHE_CONTROL not in dict(own):
        headers.append(NO_STORE)
    if is_open:
        headers.extend(cors.OPEN)
    # A replayed answer has the id of its first request.
    headers.append(request_id_header(state["request_id"]))
    return headers


def _has_length(headers: RawHeaders) -> bool:
    return any(name == b"content-length" for name, _ in headers)
