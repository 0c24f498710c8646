"""Published records in memory, and the number of times that results were replaced."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.published import Published


class Publications:
    """Published records of experiments, each read once until it is replaced; thread-safe.

    Complete where this process alone replaces results, and does so inside of `replacing`.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._changing = threading.Lock()
        self._records: dict[str, Published | None] = {}
        self._replaced = Counter[str]()
        self._listeners: list[Callable[[Sequence[str]], None]] = []

    def listen(self, listener: Callable[[Sequence[str]], None]) -> None:
        """Call `listener` with the ids of experiments after each replacement of their results."""
        self._listeners.append(listener)

    def find(self, experiment_id: str) -> Published | None:
        """Find the record of an experiment; None if nothing is published."""
        with self._changing:
            if experiment_id in self._records:
                return self._records[experiment_id]
            number = self._replaced[experiment_id]
        with self._warehouse.cursor() as cursor:
            record = published_rollups.find(cursor, experiment_id)
        with self._changing:
            # A record that was read before its replacement must not outlive it.
            if self._replaced[experiment_id] == number:
                self._records[experiment_id] = record
        return record

    def is_final(self, experiment_id: str) -> bool:
        """Tell whether the record is known already, and of final results; nothing is read."""
        with self._changing:
            record = self._records.get(experiment_id)
        return record is not None and record.is_final

    def number(self, experiment_id: str) -> int:
        """Return a number that differs after each replacement of the experiment's results."""
        return self._replaced[experiment_id]

    @contextmanager
    def replacing(self, experiment_ids: Iterable[str]) -> Iterator[None]:
        """Forget the records of experiments whose results the block replaces, also where it fails."""
        replaced = list(experiment_ids)
        try:
            yield
        finally:
            with self._changing:
                for experiment_id in replaced:
                    self._records.pop(experiment_id, None)
                    self._replaced[experiment_id] += 1
            for listener in self._listeners:
                listener(replaced)
