"""Lanes: slow work for several customers at once, in a few threads of each."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Final

# Items of one customer that are worked on at once.
WIDTH: Final = 4
# Of all customers; there are as many as were ever at work at once.
_MOST_THREADS: Final = 1000


class Lanes:
    """Threads that work on items of customers; a customer whose items are slow holds up its own alone."""

    def __init__(self) -> None:
        """Begin without work."""
        self._threads = ThreadPoolExecutor(_MOST_THREADS)
        self._begun: dict[str, tuple[str, Future[None]]] = {}
        # Set once no further item is to be begun, which long work has to look at.
        self.is_closing = Event()

    def begin(self, customer: str, item: str, work: Callable[[], None]) -> None:
        """Begin work on an item, unless it or enough others of its customer are being worked on."""
        running = Counter(of for of, future in self._begun.values() if not future.done())
        if item not in self._begun and running[customer] < WIDTH and not self.is_closing.is_set():
            self._begun[item] = (customer, self._threads.submit(work))

    def ended(self, *, within: float) -> dict[str, Callable[[], None]]:
        """Wait until everything has ended, so many seconds at most; return the result of each ended item."""
        done, _ = wait([future for _, future in self._begun.values()], timeout=within)
        ended = {item: future for item, (_, future) in self._begun.items() if future in done}
        for item in ended:
            del self._begun[item]
        return {item: future.result for item, future in ended.items()}

    def close(self) -> None:
        """Begin nothing more, and wait for what has begun."""
        self.is_closing.set()
        self._threads.shutdown()
