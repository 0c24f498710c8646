"""Requests that collectors pass on, answered by the application of the owner."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Scope
from starlette.types import Message as AsgiMessage

from api.collectors.messages import (
    AnswerFailed,
    AnswerHead,
    AnswerPart,
    BodyPart,
    BodyWanted,
    ClientLeft,
    Message,
    PartSent,
    RequestHead,
)
from api.logs import logged_path

logger = logging.getLogger(__name__)

_LEFT: AsgiMessage = {"type": "http.disconnect"}


class ForwardedRequest:
    """One request in the terms of ASGI, with at most one part of its answer on the way."""

    def __init__(self, head: RequestHead, send: Callable[[Message], None]) -> None:
        """Take the head, and the function that sends messages to the collector."""
        self.exchange_id = head.exchange_id
        self._head = head
        self._send = send
        self._parts = deque[AsgiMessage]()
        self._changed = asyncio.Event()
        self._is_asked = False
        self._has_left = False
        self._is_answered = False
        self._unsent = 0

    async def answer(self, app: ASGIApp) -> None:
        """Let the application answer; whatever it raises is logged, and ends the client's connection."""
        try:
            await app(_scope(self._head), self._receive, self._send_part)
        except Exception:
            logger.exception("%s %s failed", self._head.method, logged_path(self._head.path))
        finally:
            # An application may also return without an answer, as it does once its client has left.
            if not self._is_answered:
                self._send(AnswerFailed(self.exchange_id))

    def take(self, message: BodyPart | ClientLeft | PartSent) -> None:
        """Take a message of the collector."""
        if isinstance(message, PartSent):
            self._unsent -= 1
        elif isinstance(message, BodyPart):
            self._is_asked = False
            part = {"type": "http.request", "body": message.body, "more_body": message.more_body}
            self._parts.append(part)
        else:
            self._has_left = True
        self._changed.set()

    async def _receive(self) -> AsgiMessage:
        while not self._parts and not self._has_left:
            if not self._is_asked:
                self._is_asked = True
                self._send(BodyWanted(self.exchange_id))
            await self._next_change()
        return self._parts.popleft() if self._parts else _LEFT

    async def _send_part(self, message: AsgiMessage) -> None:
        if message["type"] == "http.response.start":
            headers: list[Any] = list(message.get("headers", ()))
            self._send(AnswerHead(self.exchange_id, message["status"], headers))
            return
        has_more = bool(message.get("more_body", False))
        self._send(AnswerPart(self.exchange_id, bytes(message.get("body", b"")), has_more))
        self._is_answered = not has_more
        self._unsent += has_more
        while self._unsent and not self._has_left:
            await self._next_change()

    async def _next_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()


class ForwardedRequests:
    """The requests of one collector; each is a task of `tasks`."""

    def __init__(self, app: ASGIApp, tasks: set[asyncio.Task[None]], send: Callable[[Message], None]) -> None:
        """Answer by `app`, and send messages to the collector by `send`."""
        self._app = app
        self._tasks = tasks
        self._send = send
        self._open: dict[int, ForwardedRequest] = {}

    def begin(self, head: RequestHead) -> None:
        """Answer a request."""
        request = self._open[head.exchange_id] = ForwardedRequest(head, self._send)
        task = asyncio.create_task(request.answer(self._app))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._open.pop(head.exchange_id))

    def take(self, message: BodyPart | ClientLeft | PartSent) -> None:
        """Pass a message of the collector on to its request, if that is not answered yet."""
        request = self._open.get(message.exchange_id)
        if request is not None:
            request.take(message)

    def leave(self) -> None:
        """Tell every request that its client has left, as the collector has ended."""
        for request in [*self._open.values()]:
            request.take(ClientLeft(request.exchange_id))


def _scope(head: RequestHead) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": head.http_version,
        "method": head.method,
        "scheme": head.scheme,
        "path": head.path,
        "raw_path": head.raw_path,
        "query_string": head.query_string,
        "root_path": "",
        "headers": head.headers,
        "client": head.client,
        "server": head.server,
        "state": {},
    }
