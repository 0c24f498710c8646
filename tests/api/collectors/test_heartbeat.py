"""Heartbeat of a collector: missed only where several questions in a row have no answer."""

import asyncio

import pytest

from api.collectors import heartbeat
from api.collectors.heartbeat import MOST_MISSED, Heartbeat
from api.collectors.messages import Message, Ping


def questions(monkeypatch: pytest.MonkeyPatch, *, answered: int) -> int:
    """Count the questions until the heartbeat is missed, where those up to a number are answered."""
    monkeypatch.setattr(heartbeat, "PING_SECONDS", 0.001)
    asked = list[Message]()

    def answer_first(message: Message) -> None:
        asked.append(message)
        if len(asked) <= answered:
            asyncio.get_running_loop().call_soon(beat.note_answer)

    beat = Heartbeat(answer_first)
    asyncio.run(beat.wait_until_missed())
    assert asked == [Ping()] * len(asked)
    return len(asked)


def test_a_collector_without_an_answer_is_given_up_after_several_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert questions(monkeypatch, answered=0) == MOST_MISSED


def test_an_answer_begins_the_count_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert questions(monkeypatch, answered=2 * MOST_MISSED) == 3 * MOST_MISSED
