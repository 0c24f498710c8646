"""The command `truelift`: its subcommands, and errors as one sentence in a terminal."""

import sys

import typer

from api.cli import (
    accounts,
    analyze,
    calibration,
    checking,
    demo,
    importing,
    serving,
    snapshots,
)
from api.cli.console import print_error

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
app.command(name="import")(importing.import_files)
app.command()(analyze.rollup)
app.command()(analyze.analyze)
app.command()(snapshots.snapshot)
app.command()(calibration.calibrate)
app.command()(checking.check)
app.command()(serving.openapi)
app.add_typer(accounts.members)
app.add_typer(accounts.keys)
app.add_typer(accounts.account)


def main() -> None:
    """Run a command; report an expected failure in one sentence, with exit status 1."""
    try:
        app()
    except Exception as failure:
        if not isinstance(failure, _expected_failures()):
            raise
        print_error(str(failure))
        sys.exit(1)


def _expected_failures() -> tuple[type[Exception], ...]:
    # Imported only here: these modules are slow to import, and `--help` needs none of them.
    from api.cli.console import CommandError
    from engine.errors import EngineError
    from pipeline.encryption_key import SecretsKeyError
    from pipeline.imports.imported_experiment import ImportRefusedError
    from pipeline.imports.tables import UnreadableFileError
    from pipeline.settings import SettingsError
    from pipeline.snapshots.manifest import UnreadableSnapshotError
    from pipeline.store.catalog.errors import CatalogError
    from pipeline.store.ownership.damage import DamagedStoreError
    from pipeline.store.ownership.store_lock import StoreOwnedError
    from pipeline.store.private_files import FolderError
    from pipeline.store.warehouse.connection import WarehouseBusyError

    return (
        CommandError,
        EngineError,
        CatalogError,
        FolderError,
        SecretsKeyError,
        SettingsError,
        DamagedStoreError,
        StoreOwnedError,
        WarehouseBusyError,
        ImportRefusedError,
        UnreadableFileError,
        UnreadableSnapshotError,
    )
