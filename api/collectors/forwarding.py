"""Forwarding of requests from a collector to the owner of the store, part by part."""

import asyncio
from typing import Any

from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

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
from api.collectors.owner_link import OwnerLink


class ForwardingError(Exception):
    """The owner has not ended its answer; an error of it is logged there."""


async def forward(owner: OwnerLink, scope: Scope, receive: Receive, send: Send) -> None:
    """Let the owner answer a request; ForwardingError.

    A part of the body is read when the owner asks for it, and a part of the answer is followed by the next
    once the client has taken it. Nothing is waited for once the client has left.
    """
    arrived: asyncio.Queue[Message] = asyncio.Queue()
    exchange_id = owner.begin(arrived.put_nowait)
    owner.send(_head(exchange_id, scope))
    reading = set[asyncio.Task[None]]()
    try:
        while True:
            message = await arrived.get()
            if isinstance(message, BodyWanted):
                task = asyncio.create_task(_pass_body(owner, exchange_id, receive, arrived))
                reading.add(task)
                task.add_done_callback(reading.discard)
            elif isinstance(message, ClientLeft) or await _is_last(message, send):
                return
            elif isinstance(message, AnswerPart):
                owner.send(PartSent(exchange_id))
    finally:
        owner.drop_exchange(exchange_id)
        for task in reading:
            task.cancel()


async def _is_last(message: Message, send: Send) -> bool:
    """Pass on a part of the answer; return whether it was the last one."""
    if isinstance(message, AnswerFailed):
        raise ForwardingError
    if isinstance(message, AnswerHead):
        await send({"type": "http.response.start", "status": message.status, "headers": message.headers})
        return False
    assert isinstance(message, AnswerPart)  # noqa: S101 - the owner sends nothing else
    await send({"type": "http.response.body", "body": message.body, "more_body": message.more_body})
    return not message.more_body


async def _pass_body(
    owner: OwnerLink, exchange_id: int, receive: Receive, arrived: "asyncio.Queue[Message]"
) -> None:
    part: AsgiMessage = await receive()
    if part["type"] == "http.disconnect":
        left = ClientLeft(exchange_id)
        owner.send(left)
        arrived.put_nowait(left)
    else:
        owner.send(BodyPart(exchange_id, bytes(part.get("body", b"")), bool(part.get("more_body", False))))


def _head(exchange_id: int, scope: Scope) -> RequestHead:
    headers: list[Any] = list(scope["headers"])
    return RequestHead(
        exchange_id,
        method=scope["method"],
        path=scope["path"],
        raw_path=scope.get("raw_path") or b"",
        query_string=scope["query_string"],
        http_version=scope["http_version"],
        scheme=scope["scheme"],
        client=scope.get("client"),
        server=scope.get("server"),
        headers=headers,
    )
