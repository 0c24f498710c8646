"""Services that import runs work with; those of a process have them."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from pipeline.imports.import_result import ImportStores
from pipeline.results.results import Results
from pipeline.rollup.run import Rollup


class RunStores(ImportStores, Protocol):
    """The stores of an import, and what counts and judges it."""

    @property
    def rollup(self) -> Rollup:
        """Counts of events."""

    @property
    def results(self) -> Results:
        """Reports of experiments."""

    @property
    def clock(self) -> Callable[[], datetime]:
        """The time, aware."""
