"""Ends of runs: the errors that end them, as sentences, and how they are recorded."""

import threading
import time
from dataclasses import dataclass
from typing import Final

from pipeline.snapshots.writer import SnapshotStoppedError
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogBusyError
from pipeline.store.catalog.runs.run_record import Run

# A catalog that is busy for longer leaves the run to the next start of the service.
SAVE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 1.0

UNEXPECTED: Final = "failed unexpectedly; the log of the service says why"
# Errors of these packages are sentences for people; others may tell of the machine and its data.
_OWN_PACKAGES: Final = frozenset({"engine", "pipeline"})


class RunStoppedError(Exception):
    """A run that a stop of the process interrupts."""


class WorkPanicError(Exception):
    """A library that gave up in the middle of a run, by what is no Exception of Python."""


class SourcesFailedError(Exception):
    """Sources of one run that were not imported; the message names each, and why."""


STOPPED: Final = (RunStoppedError, SnapshotStoppedError)
# A panic of a library in Rust is a BaseException; these are no failures of the work.
NO_FAILURES: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended, and the error that ended it."""

    run: Run
    error: Exception | None


def as_exception(error: BaseException) -> Exception:
    """Return the error itself, or a WorkPanicError of it where it is no Exception."""
    if isinstance(error, Exception):
        return error
    panic = WorkPanicError(UNEXPECTED)
    panic.__cause__ = error
    return panic


def one_line(error: Exception) -> str:
    """Describe an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def sentence_of(error: Exception) -> str:
    """Describe an error by its own words where it is one of ours."""
    is_own = type(error).__module__.partition(".")[0] in _OWN_PACKAGES
    return one_line(error) if is_own else UNEXPECTED


def save_end(catalog: Catalog, run: Run, stopping: threading.Event) -> None:
    """Save a run that has ended, also where the catalog is busy for a while."""
    deadline = time.monotonic() + SAVE_SECONDS
    while True:
        try:
            catalog.runs.save(run)
        except CatalogBusyError:
            if time.monotonic() > deadline or stopping.wait(_PAUSE_SECONDS):
                raise
        else:
            return
