"""Terminal output: results on standard output, errors and progress on standard error."""

import json
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

# A file or a pipe has no width of its own; a table needs this much.
WIDTH_WITHOUT_TERMINAL = 120

out = Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
err = Console(stderr=True)


class CommandError(Exception):
    """A command that cannot be carried out as given; the message says what to do."""


def print_error(message: str) -> None:
    """Print an error without a traceback."""
    err.print(f"[bold red]error[/] {message}", highlight=False)


def print_json(value: object) -> None:
    """Print one line of JSON on standard output, for programs."""
    print(json.dumps(value))  # noqa: T201 - plain text: Rich would wrap and colour it


def progress() -> Progress:
    """Create a progress bar on standard error, so that standard output holds results only."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
    )
