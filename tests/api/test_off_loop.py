"""Work on many bytes runs in another thread than the event loop's, work on few at once."""

import asyncio
import threading

from api.off_loop import LARGE_BYTES, off_loop


def test_work_on_many_bytes_leaves_the_loop() -> None:
    async def threads() -> tuple[int, int, int]:
        few, many = [await off_loop(size, threading.get_ident) for size in (LARGE_BYTES - 1, LARGE_BYTES)]
        return threading.get_ident(), few, many

    loop, few, many = asyncio.run(threads())
    assert few == loop
    assert many != loop
