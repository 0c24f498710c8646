"""Kept answers: encoded answers about results, bounded in bytes."""

import threading
from collections import OrderedDict
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from pipeline.results.results_version import ResultsVersion

# Estimated size of an answer besides its content.
_OVERHEAD_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class Question:
    """A read of an experiment's results; `parameters` are those of its query."""

    experiment_id: str
    view: str
    parameters: str


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """JSON of an answer, with its entity tag."""

    content: bytes
    tag: str


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: EncodedAnswer
    version: ResultsVersion

    @property
    def size(self) -> int:
        return len(self.answer.content) + _OVERHEAD_BYTES


class KeptAnswers:
    """Answers by question, of which those that were not read for longest are dropped; thread-safe."""

    def __init__(self, most_bytes: int) -> None:
        """Keep nothing yet, and at most so many bytes."""
        self._most_bytes = most_bytes
        self._changing = threading.Lock()
        self._kept: OrderedDict[Question, _Kept] = OrderedDict()
        self._bytes = 0

    @property
    def bytes_kept(self) -> int:
        """Size of all kept answers."""
        return self._bytes

    def find(self, question: Question, version: ResultsVersion) -> EncodedAnswer | None:
        """Find the answer of that version; None where none is kept."""
        with self._changing:
            kept = self._kept.get(question)
            if kept is None:
                return None
            if kept.version != version:
                self._drop(question)
                return None
            self._kept.move_to_end(question)
            return kept.answer

    def keep(self, question: Question, version: ResultsVersion, answer: EncodedAnswer) -> None:
        """Keep an answer in the place of the last one to the same question."""
        kept = _Kept(answer, version)
        with self._changing:
            self._drop(question)
            self._kept[question] = kept
            self._bytes += kept.size
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._kept)))

    def forget(self, experiment_ids: Container[str]) -> None:
        """Drop every answer about these experiments."""
        with self._changing:
            for question in [one for one in self._kept if one.experiment_id in experiment_ids]:
                self._drop(question)

    def _drop(self, question: Question) -> None:
        kept = self._kept.pop(question, None)
        if kept is not None:
            self._bytes -= kept.size
