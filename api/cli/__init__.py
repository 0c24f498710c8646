"""The command line: which commands there are, and how an error looks in a terminal."""

import sys

import typer

from api.cli import (
    accounts,
    analyze,
    calibration,
    demo,
    importing,
    serving,
    snapshots,
)
from api.cli.console import complain

app = typer.Typer(
    name="truelift",
    help="A/B testing with verdicts you can trust: ship, roll back, keep running, or fix the data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
app.command()(accounts.init)
app.command()(serving.serve)
app.command()(demo.demo)
app.command(name="import")(importing.import_file)
app.command()(analyze.rollup)
app.command()(analyze.analyze)
app.command()(snapshots.snapshot)
app.command()(calibration.calibrate)
app.command()(serving.openapi)
app.add_typer(accounts.members)
app.add_typer(accounts.keys)
app.add_typer(accounts.account)


def main() -> None:
    """Run a command; a failure that a caller can act on is one sentence on standard error and exit 1."""
    try:
        app()
    except Exception as failure:
        # Imported only now: the errors live beside the parts that raise them, which are slow to import.
        from api.cli.console import EXPECTED_FAILURES

        if not isinstance(failure, EXPECTED_FAILURES):
            raise
        complain(str(failure))
        sys.exit(1)
