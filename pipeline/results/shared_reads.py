"""Shared reads of results: computed once for all who ask while nothing changes."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar
from weakref import WeakValueDictionary

from pipeline.results.results_version import ResultsVersion

T = TypeVar("T")
# Those of many goals and variants take some megabytes.
_MOST: Final = 16


class SharedReads(Generic[T]):
    """What was read last for each of the latest questions, with the version of the results; thread-safe."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[ResultsVersion, T]] = OrderedDict()
        # A question has a lock while somebody asks it.
        self._asking: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()

    def get(
        self, question: Hashable, version: Callable[[], ResultsVersion | None], compute: Callable[[], T]
    ) -> tuple[T, bool]:
        """Return what is kept of the present version, or compute it; and whether it was kept.

        Where the version is None, or another one in the end, nothing is kept. Who asks meanwhile waits.
        """
        if version() is None:
            return compute(), False
        with self._changing:
            asking = self._asking.setdefault(question, threading.Lock())
        with asking:
            before = version()
            kept = self._find(question)
            if kept is not None and kept[0] == before:
                return kept[1], True
            found = compute()
            if before is not None and before == version():
                self._keep(question, before, found)
            return found, False

    def _find(self, question: Hashable) -> tuple[ResultsVersion, T] | None:
        with self._changing:
            if question in self._kept:
                self._kept.move_to_end(question)
            return self._kept.get(question)

    def _keep(self, question: Hashable, version: ResultsVersion, found: T) -> None:
        with self._changing:
            self._kept.pop(question, None)
            self._kept[question] = version, found
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
