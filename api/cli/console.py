"""Terminal output: results on standard output, errors and progress on standard error."""

import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

# A file or a pipe has no width of its own; a table needs this much.
WIDTH_WITHOUT_TERMINAL = 120

# Without markup, which would swallow `[postgres]` and a customer's `[new]`.
out = Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL, markup=False)
err = Console(stderr=True, markup=False)


class CommandError(Exception):
    """A command that cannot be carried out as given; the message says what to do."""


def print_error(message: str) -> None:
    """Print an error without a traceback."""
    # A driver's message may have several lines.
    err.print(Text.assemble(("error", "bold red"), " ", " ".join(message.split())), soft_wrap=True)


def print_json(value: object) -> None:
    """Print one line of JSON on standard output, for programs."""
    print(json.dumps(value))  # noqa: T201 - plain text: Rich would wrap and colour it


def print_records(records: Sequence[Mapping[str, object]]) -> None:
    """Print records with the same fields as a table, one row each; nothing for none."""
    if not records:
        return
    table = Table(box=None)
    for name in records[0]:
        # Ids are pasted into other commands.
        table.add_column(name, no_wrap=name == "id" or name.endswith("_id"), overflow="fold")
    for record in records:
        table.add_row(*(_cell(value) for value in record.values()))
    out.print(table)


def figures_table(title: str, names: Sequence[str], figures: Sequence[str]) -> Table:
    """Create a table of figures, to the right of their names."""
    table = Table(
        title=title,
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1),
        collapse_padding=True,
        pad_edge=False,
    )
    for heading in names:
        table.add_column(heading, no_wrap=True)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the disk into a CommandError."""
    try:
        yield
    except OSError as failure:
        raise CommandError(f"{path} cannot be written: {failure.strerror}") from None


def save_records(records: Sequence[Mapping[str, object]], path: Path) -> None:
    """Write records with the same fields as CSV into a file; CommandError."""
    with writing(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def progress() -> Progress:
    """Create a progress bar on standard error, so that standard output holds results only."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
    )
