import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from api.made_once import MadeOnce


class Maker:
    """Makes the bytes of a key, in a turn of the loop, and remembers for which."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def of(self, key: int) -> Callable[[], Coroutine[Any, Any, bytes]]:
        return partial(self._make, key)

    async def _make(self, key: int) -> bytes:
        await asyncio.sleep(0)
        self.made.append(key)
        if len(self.made) == 1 and key < 0:
            raise ValueError(key)
        return b"%100d" % key


def test_requests_at_once_and_later_ones_share_one_making() -> None:
    maker = Maker()

    async def ask() -> list[bytes]:
        once = MadeOnce(1_000)
        found = await asyncio.gather(*(once.get(7, maker.of(7)) for _ in range(5)))
        return [*found, await once.get(7, maker.of(7))]

    assert asyncio.run(ask()) == [b"%100d" % 7] * 6
    assert maker.made == [7]


def test_a_request_that_ends_early_leaves_the_work_to_the_others() -> None:
    maker = Maker()

    async def ask() -> bytes:
        once = MadeOnce(1_000)
        first, second = (asyncio.create_task(once.get(7, maker.of(7))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        return await second

    assert asyncio.run(ask()) == b"%100d" % 7
    assert maker.made == [7]


def test_what_could_not_be_made_is_tried_again() -> None:
    maker = Maker()

    async def ask() -> bytes:
        once = MadeOnce(1_000)
        with pytest.raises(ValueError, match="-7"):
            await once.get(-7, maker.of(-7))
        return await once.get(-7, maker.of(-7))

    assert asyncio.run(ask()) == b"%100d" % -7


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    maker = Maker()

    async def ask() -> tuple[bytes, ...]:
        once = MadeOnce(350)
        for key in (1, 2, 3, 1, 4):
            await once.get(key, maker.of(key))
        return once.kept

    assert asyncio.run(ask()) == tuple(b"%100d" % key for key in (3, 1, 4))
    assert maker.made == [1, 2, 3, 4]


def test_what_is_larger_than_the_room_is_made_each_time() -> None:
    maker = Maker()

    async def ask() -> tuple[bytes, ...]:
        once = MadeOnce(99)
        for _ in range(2):
            assert await once.get(7, maker.of(7)) == b"%100d" % 7
        return once.kept

    assert asyncio.run(ask()) == ()
    assert maker.made == [7, 7]


def test_what_is_forgotten_is_made_again_also_where_it_was_being_made() -> None:
    maker = Maker()

    async def ask() -> tuple[bytes, ...]:
        once = MadeOnce(300)
        await once.get(7, maker.of(7))
        begun = asyncio.create_task(once.get(8, maker.of(8)))
        await asyncio.sleep(0)
        await asyncio.to_thread(once.forget, lambda key: key in {7, 8})
        # Those who wait get it.
        assert await begun == b"%100d" % 8
        assert once.kept == ()
        for key in (7, 8, 9, 9):
            await once.get(key, maker.of(key))
        return once.kept

    # Of those that are dropped, no byte is counted.
    assert asyncio.run(ask()) == tuple(b"%100d" % key for key in (7, 8, 9))
    assert maker.made == [7, 8, 7, 8, 9]
