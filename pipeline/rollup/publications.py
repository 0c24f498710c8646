"""Published records in memory, and the number of times that results were replaced."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
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
        # Of these, those that changed more than the record.
        self._changed = Counter[str]()
        self._listeners: list[Callable[[frozenset[str]], None]] = []

    def listen(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Call `listener` with the ids of experiments after each replacement of their results."""
        self._listeners.append(listener)

    def find(self, experiment_id: str) -> Published | None:
        """Find the record of an experiment; None if nothing is published."""
        return self.find_all([experiment_id]).get(experiment_id)

    def find_all(self, experiment_ids: Collection[str]) -> dict[str, Published]:
        """Find the records of experiments with published results, by id; unknown ones by one query."""
        with self._changing:
            records = {one: self._records[one] for one in experiment_ids if one in self._records}
            numbers = {one: self._replaced[one] for one in experiment_ids if one not in records}
        if numbers:
            with self._warehouse.cursor() as cursor:
                found = published_rollups.find_all(cursor, numbers)
            records |= {one: found.get(one) for one in numbers}
            with self._changing:
                for experiment_id, number in numbers.items():
                    # A record that was read before its replacement must not outlive it.
                    if self._replaced[experiment_id] == number:
                        self._records[experiment_id] = records[experiment_id]
        return {one: record for one, record in records.items() if record is not None}

    def is_final(self, experiment_id: str) -> bool:
        """Tell whether the record is known already, and no event changes its results; nothing is read."""
        with self._changing:
            record = self._records.get(experiment_id)
        return record is not None and (record.is_final or record.sums_from is not None)

    def number(self, experiment_id: str) -> int:
        """Return a number that differs after each replacement of the experiment's results."""
        return self._replaced[experiment_id]

    def changes(self, experiment_id: str) -> int:
        """Return a number that differs after each replacement of more than the record."""
        return self._changed[experiment_id]

    @contextmanager
    def replacing(self, experiment_ids: Iterable[str]) -> Iterator[dict[str, Published]]:
        """Forget the records of experiments whose results the block replaces, also where it fails.

        The block puts the records of those whose other results stay into the dictionary that it is given.
        """
        replaced = frozenset(experiment_ids)
        only_records: dict[str, Published] = {}
        try:
            yield only_records
        except BaseException:
            only_records.clear()
            raise
        finally:
            with self._changing:
                for experiment_id in replaced:
                    self._records.pop(experiment_id, None)
                    self._replaced[experiment_id] += 1
                    self._changed[experiment_id] += experiment_id not in only_records
                self._records |= only_records
            for listener in self._listeners:
                listener(replaced)
