"""Limits of ingest: the least that a server can do with the same requests.

`synced_file` decodes the JSON, appends the events to one file and answers once they are synced; `decoder`
runs the decoder of the service, and stores nothing. Both are raw ASGI applications on uvicorn.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import uvicorn

from pipeline.clock import utc_now_us
from pipeline.events.attributes import Client
from pipeline.events.body import EventBody, read_in_slices
from pipeline.events.decode import RequestContext, decode_tracked
from pipeline.events.project_ids import ProjectIds
from pipeline.events.rejections import EventResult

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_ANSWER: Final = b'{"accepted":1}'


class _Batch(msgspec.Struct):
    batch: list[dict[str, Any]]


class _Answer(msgspec.Struct):
    accepted: int
    rejected: int
    results: list[EventResult]


class SyncedFile:
    """One append-only file: requests that arrive during a sync share the next one."""

    def __init__(self, path: Path, loop: asyncio.AbstractEventLoop) -> None:
        """Create the file and start the thread that writes."""
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._loop = loop
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._write, daemon=True).start()

    async def append(self, content: bytes) -> None:
        """Return once the content is synced."""
        stored = self._loop.create_future()
        with self._changed:
            self._waiting.append((content, stored))
            self._changed.notify()
        await stored

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                group, self._waiting = self._waiting, []
            os.write(self._descriptor, b"".join(content for content, _ in group))
            os.fdatasync(self._descriptor)
            self._loop.call_soon_threadsafe(_resolve, [stored for _, stored in group])


def _resolve(group: list[asyncio.Future[None]]) -> None:
    for stored in group:
        stored.set_result(None)


def serve_synced_file(port: int, folder: Path) -> None:
    """Serve the application that appends to one synced file."""
    decode = msgspec.json.Decoder(_Batch).decode
    encode = msgspec.msgpack.Encoder().encode
    file: SyncedFile | None = None

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        nonlocal file
        body = await _body(scope, receive)
        if body is not None:
            file = file or SyncedFile(folder / "events", asyncio.get_running_loop())
            await file.append(encode(decode(body).batch))
        await _answer(send, _ANSWER)

    _serve(app, port)


def serve_decoder(port: int, experiment_id: str, variant_ids: tuple[str, ...]) -> None:
    """Serve the application that decodes and checks events as the service does."""
    ids = ProjectIds(variants={experiment_id: frozenset(variant_ids)}, goals=frozenset())
    encode = msgspec.json.Encoder().encode

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        body = await _body(scope, receive)
        if body is None:
            await _answer(send, _ANSWER)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        context = RequestContext(
            received_us=utc_now_us(), project_ids=ids, sender="browser", client=Client.of_headers(headers)
        )
        events = decode_tracked(_split(body), context)
        await _answer(send, encode(_Answer(len(events.rows), events.rejected, events.results)))

    _serve(app, port)


def _split(body: bytes) -> EventBody:
    steps = read_in_slices(body)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            split: EventBody = end.value
            return split


async def _body(scope: dict[str, Any], receive: Receive) -> bytes | None:
    """Read the body of a request; None for one without."""
    if scope["method"] != "POST":
        return None
    parts = []
    while True:
        message = await receive()
        parts.append(message["body"])
        if not message.get("more_body"):
            return b"".join(parts)


async def _answer(send: Send, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _serve(app: Any, port: int) -> None:  # noqa: ANN401 - an ASGI application
    serve = partial(uvicorn.run, app, port=port, log_level="warning", access_log=False)
    serve(lifespan="off", loop="uvloop", http="httptools", server_header=False, date_header=False)
