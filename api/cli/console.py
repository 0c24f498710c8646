"""Where the command line prints: results on standard output, everything else on standard error.

Which failures a person at the terminal can act on: they get a sentence, not a traceback.
"""

import json
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from engine.errors import EngineError
from pipeline.imports.tables import UnreadableFileError
from pipeline.snapshots.manifest import UnreadableSnapshotError
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.warehouse.connection import WarehouseBusyError

# A file or a pipe has no width of its own: leave a table the room it needs.
WIDTH_WITHOUT_TERMINAL = 120

out = Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
err = Console(stderr=True)


def complain(message: str) -> None:
    """Say what went wrong and what to do, without a traceback."""
    err.print(f"[bold red]error[/] {message}", highlight=False)


def print_json(value: object) -> None:
    """One line of JSON on standard output, for programs."""
    print(json.dumps(value))  # noqa: T201 - plain text: Rich would wrap and colour it


def progress() -> Progress:
    """A progress bar on standard error, so that standard output stays clean."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
    )


class CommandError(Exception):
    """What was asked of a command cannot be done as asked."""


EXPECTED_FAILURES = (
    CommandError,
    EngineError,
    CatalogError,
    WarehouseBusyError,
    UnreadableFileError,
    UnreadableSnapshotError,
)
