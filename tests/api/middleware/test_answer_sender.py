"""Answers as they leave the application: headers of all, and one write where the server takes a whole one."""

import asyncio
from collections.abc import Sequence
from typing import Any

from starlette.types import Message

from api.middleware.answer_sender import WHOLE_ANSWERS, AnswerSender

LENGTH = (b"content-length", b"4")


def sent(*messages: Message, extension: bool = True) -> tuple[list[bytes], list[str]]:
    """Send the messages of an answer; return the bodies taken whole, and the types of the other messages."""
    whole, others = list[bytes](), list[str]()

    async def take_whole(status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> None:
        assert status == 200
        assert (b"x-request-id", b"req_1") in headers
        whole.append(body)

    async def take(message: Message) -> None:
        others.append(message["type"])

    async def send_all() -> None:
        scope: dict[str, Any] = {"path": "/api/v1/projects", "state": {"request_id": "req_1"}}
        if extension:
            scope["extensions"] = {WHOLE_ANSWERS: take_whole}
        answer = AnswerSender(scope, take)
        for message in messages:
            await answer(message)

    asyncio.run(send_all())
    return whole, others


def start(*headers: tuple[bytes, bytes]) -> Message:
    """The head of an answer."""
    return {"type": "http.response.start", "status": 200, "headers": [*headers]}


def part(body: bytes, *, more: bool = False) -> Message:
    """A part of the body of an answer."""
    return {"type": "http.response.body", "body": body, "more_body": more}


def test_an_answer_of_one_part_is_taken_whole() -> None:
    assert sent(start(LENGTH), part(b"body")) == ([b"body"], [])


def test_a_server_that_takes_none_gets_head_and_body() -> None:
    both = ["http.response.start", "http.response.body"]
    assert sent(start(LENGTH), part(b"body"), extension=False) == ([], both)


def test_an_answer_of_unknown_length_begins_at_once() -> None:
    assert sent(start()) == ([], ["http.response.start"])


def test_an_answer_of_several_parts_is_sent_part_by_part() -> None:
    messages = start(LENGTH), part(b"bo", more=True), part(b"dy")
    assert sent(*messages) == ([], [message["type"] for message in messages])
