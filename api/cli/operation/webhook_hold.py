"""Command `webhooks resume`: messages of a restored store."""

from pathlib import Path

import typer

from api.cli.console import out, print_json
from api.cli.options import AsJson, DataDir
from api.cli.stores import require_store, settings_for

webhooks = typer.Typer(name="webhooks", help="Webhooks of a restored store.", no_args_is_help=True)


@webhooks.callback()
def _group() -> None:
    """Keep `resume` a command of the group, although it is the only one."""


@webhooks.command("resume")
def resume(data_dir: DataDir = Path("data/store"), as_json: AsJson = False) -> None:
    """Send the webhooks of a restored store, those that wait and all that come."""
    require_store(data_dir)
    path = settings_for(data_dir).held_webhooks_path
    was_held = path.exists()
    path.unlink(missing_ok=True)
    if as_json:
        print_json({"resumed": was_held})
    else:
        out.print("Webhooks are sent from now on." if was_held else "Webhooks were not held.", soft_wrap=True)
