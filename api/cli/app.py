"""The command `truelift`: its subcommands, and errors as one sentence in a terminal."""

import sys
from typing import Annotated

import typer

from api.cli import (
    accounts,
    analyze,
    browser_opening,
    calibration,
    checking,
    demo,
    report,
    runs,
    serving,
    snapshots,
    vectors,
)
from api.cli.analysis.visitors_needed import plan
from api.cli.client.exported_visitors import export
from api.cli.console import print_error
from api.cli.imports import importing, sources
from api.cli.operation import backup, doctor, erase, handed_in_sums, webhook_hold
from api.expected_failures import is_expected

app = typer.Typer(
    name="truelift",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - Typer's signature
    if asked:
        # Slow to import, and needed here alone.
        from importlib.metadata import version

        typer.echo(f"truelift {version('truelift')}")
        raise typer.Exit


@app.callback()
def truelift(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """A/B testing with verdicts you can trust: ship, roll back, keep running, or fix the data."""


app.command()(accounts.init)
app.command()(serving.serve)
app.command()(demo.demo)
app.command(name="open")(browser_opening.open_dashboard)
app.command(name="import")(importing.import_files)
app.command()(runs.rollup)
app.command()(runs.runs)
app.command()(handed_in_sums.load)
app.command()(analyze.analyze)
app.command()(plan)
app.command()(report.report)
app.command()(export)
app.command()(snapshots.snapshot)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(doctor.doctor)
app.command()(erase.erase)
app.command()(calibration.calibrate)
app.command()(checking.check)
app.command()(serving.openapi)
app.command()(vectors.vectors)
app.add_typer(accounts.members)
app.add_typer(accounts.keys)
app.add_typer(accounts.account)
app.add_typer(sources.source)
app.add_typer(webhook_hold.webhooks)


def main() -> None:
    """Run a command; report an expected failure in one sentence, with exit status 1."""
    try:
        app()
    except Exception as failure:
        if not is_expected(failure):
            raise
        print_error(str(failure))
        sys.exit(1)
