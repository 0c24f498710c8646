"""Services that import runs work with; those of a process have them."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from pipeline.imports.import_result import ImportStores
from pipeline.results.outside.publish_sums import SumStores
from pipeline.results.results import Results


class RunStores(ImportStores, SumStores, Protocol):
    """The stores of an import, and what counts and judges it."""

    @property
    def results(self) -> Results:
        """Reports of experiments."""

    @property
    def clock(self) -> Callable[[], datetime]:
        """The time, aware."""
