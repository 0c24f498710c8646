"""Shared reads of results: computed once for all who ask while nothing changes."""

import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from io import BytesIO
from operator import attrgetter
from types import FunctionType
from typing import Any, Final, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from engine.analysis.evidence.evidence import Evidence
from engine.analysis.evidence.segments import SegmentEvidence
from engine.analysis.results.segment_report import SegmentReport
from engine.design.experiment import Experiment
from engine.design.project import Project
from pipeline.results.filters import SegmentFilters
from pipeline.results.results_version import ResultsVersion

T = TypeVar("T")
Dated = TypeVar("Dated", Evidence, SegmentEvidence, SegmentReport)
# Of the results, or the number of their publication alone.
Version = ResultsVersion | int
MOST: Final = 16
# Of many goals, variants, days and segments, one read alone may have more, and is not kept.
MOST_BYTES: Final = 64 * 2**20


class SharedQuestion(NamedTuple):
    """What is asked of an experiment's results."""

    experiment_id: str
    segment: Hashable = ()


@dataclass(frozen=True, slots=True)
class AskedRead:
    """A read of the visitors that filters choose, as of `now`; `fresh_at` is None where events lack."""

    experiment: Experiment
    project: Project
    filters: SegmentFilters
    now: datetime
    fresh_at: datetime | None
    # Erasures of persons before it.
    erasures: int

    @property
    def question(self) -> SharedQuestion:
        """What is asked."""
        chosen = (*self.filters.segment.items(), *self.filters.given_days.items())
        return SharedQuestion(self.experiment.id, chosen)

    def date(self, read: tuple[Dated, bool]) -> Dated:
        """Date what was kept at the time of this read, where it counts every event."""
        found, was_kept = read
        return replace(found, as_of=self.now) if was_kept and found.as_of and self.fresh_at else found


class _Kept(NamedTuple, Generic[T]):
    version: Version
    found: T
    size: int


class SharedReads(Generic[T]):
    """What was read last for each of the latest questions, with the version of the results; thread-safe."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._kept: OrderedDict[SharedQuestion, _Kept[T]] = OrderedDict()
        # A question has a lock while somebody asks it.
        self._asking: WeakValueDictionary[SharedQuestion, threading.Lock] = WeakValueDictionary()

    def read(
        self: "SharedReads[Dated]",
        asked: AskedRead,
        version: Callable[[], Version | None],
        compute: Callable[[], Dated],
    ) -> Dated:
        """Return what `get` does for a read, as of its time where what is kept counts every event."""
        return asked.date(self.get(asked.question, version, compute))

    def get(
        self, question: SharedQuestion, version: Callable[[], Version | None], compute: Callable[[], T]
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
            if kept is not None and kept.version == before:
                return kept.found, True
            found = compute()
            if before is not None:
                self._keep(question, _Kept(before, found, _size_of(found)))
                # Asked once it is kept, so that nothing stays that was to be forgotten meanwhile.
                if before != version():
                    self._drop([question])
            return found, False

    def forget(self, experiment_ids: Container[str]) -> None:
        """Drop everything that was read of these experiments."""
        with self._changing:
            questions = [one for one in self._kept if one.experiment_id in experiment_ids]
        self._drop(questions)

    def _find(self, question: SharedQuestion) -> _Kept[T] | None:
        with self._changing:
            if question in self._kept:
                self._kept.move_to_end(question)
            return self._kept.get(question)

    def _keep(self, question: SharedQuestion, kept: _Kept[T]) -> None:
        with self._changing:
            self._kept.pop(question, None)
            self._kept[question] = kept
            while len(self._kept) > MOST or sum(one.size for one in self._kept.values()) > MOST_BYTES:
                self._kept.popitem(last=False)

    def _drop(self, questions: list[SharedQuestion]) -> None:
        with self._changing:
            for question in questions:
                self._kept.pop(question, None)


class _Sizes(pickle.Pickler):
    """Counts what is written of records: their fields, which `dataclasses` looks up anew for each.

    Functions of measures belong to nobody's read, and some have no name to be found by.
    """

    def reducer_override(self, obj: object) -> tuple[type[str], tuple[Any, ...]]:
        if isinstance(obj, FunctionType):
            return str, ()
        values_of = _fields_of(type(obj))  # type: ignore[arg-type]  # every class is hashable
        return NotImplemented if values_of is None else (str, values_of(obj))


@cache
def _fields_of(kind: type) -> Callable[[object], tuple[Any, ...]] | None:
    """Return what reads the fields of a record's class; None for another."""
    # Of one name, `attrgetter` makes no tuple.
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else []
    return attrgetter(*names) if len(names) > 1 else None


def _size_of(found: object) -> int:
    """Count the bytes of a read with its arrays, which are not copied for it."""
    arrays: list[pickle.PickleBuffer] = []
    rest = BytesIO()
    _Sizes(rest, protocol=5, buffer_callback=arrays.append).dump(found)
    return rest.tell() + sum(array.raw().nbytes for array in arrays)
