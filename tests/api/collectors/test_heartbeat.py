"""Heartbeat of a collector: missed only where several questions in a row have no answer."""

import asyncio
from functools import partial

import pytest

from api.collectors import heartbeat
from api.collectors.heartbeat import LATE_SECONDS, MOST_MISSED, PING_SECONDS, Heartbeat
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


def test_two_seconds_decide_so_that_three_are_left_to_start_another() -> None:
    assert round(MOST_MISSED * PING_SECONDS, 3) == 2


def test_questions_of_an_owner_that_was_itself_late_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, sleep = list[float](), asyncio.sleep

    async def wake_late(seconds: float) -> None:
        await sleep(0)
        loop = asyncio.get_running_loop()
        asked.append(loop.time())
        # Late three times, and punctual from then on.
        late = seconds + 2 * LATE_SECONDS if len(asked) <= 3 else seconds
        monkeypatch.setattr(loop, "time", partial(float, asked[-1] + late))

    monkeypatch.setattr("asyncio.sleep", wake_late)
    asyncio.run(Heartbeat(lambda _: None).wait_until_missed())
    assert len(asked) == 3 + MOST_MISSED
