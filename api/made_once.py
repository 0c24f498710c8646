"""Bytes that take long to make: made once for each key, and kept while there is room."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any


class MadeOnce:
    """Bytes by key, of which those that were asked for longest ago go first; asked for in one event loop.

    Requests that ask for the same ones at once wait for one making.
    """

    def __init__(self, max_bytes: int) -> None:
        """Keep at most `max_bytes`."""
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size = 0
        self._in_work: dict[Hashable, asyncio.Task[bytes]] = {}
        # Of these, those that were to be forgotten meanwhile.
        self._unkept = set[Hashable]()
        self._changing = threading.Lock()

    @property
    def kept(self) -> tuple[bytes, ...]:
        """What is kept, with that asked for last at the end."""
        return tuple(self._kept.values())

    async def get(self, key: Hashable, make: Callable[[], Coroutine[Any, Any, bytes]]) -> bytes:
        """Return what is kept for the key, or make it; what `make` raises is raised to all who wait."""
        with self._changing:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            task = self._in_work.get(key)
            if task is None:
                task = self._in_work[key] = asyncio.create_task(self._make(key, make))
        # Others wait for it, too, when this request ends early.
        return await asyncio.shield(task)

    def forget(self, is_gone: Callable[[Hashable], bool]) -> None:
        """Drop what is kept, or is being made, for such keys; from any thread."""
        with self._changing:
            self._unkept.update(filter(is_gone, self._in_work))
            for key in [*filter(is_gone, self._kept)]:
                self._size -= len(self._kept.pop(key))

    async def _make(self, key: Hashable, make: Callable[[], Coroutine[Any, Any, bytes]]) -> bytes:
        made = None
        try:
            made = await make()
            return made
        finally:
            with self._changing:
                del self._in_work[key]
                is_kept = key not in self._unkept
                self._unkept.discard(key)
                if made is not None and is_kept:
                    self._keep(key, made)

    def _keep(self, key: Hashable, made: bytes) -> None:
        self._kept[key] = made
        self._size += len(made)
        while self._size > self._max_bytes:
            self._size -= len(self._kept.popitem(last=False)[1])
