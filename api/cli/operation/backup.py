"""Commands `backup` and `restore`: a copy of a whole store, and a store from a copy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from api.cli.console import out, print_json
from api.cli.options import AsJson, DataDir
from api.cli.stores import opened_store, require_store, settings_for

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService

WEBHOOKS_HELD: Final = "A restored store sends no webhooks until you run: truelift webhooks resume"


def backup(
    folder: Annotated[Path, typer.Argument(help="New or empty folder to write into.")],
    data_dir: DataDir = Path("data/store"),
    with_snapshots: Annotated[
        bool, typer.Option("--with-snapshots", help="Copy the snapshots, too; they can be written anew.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a backup of the whole store, by the service where it owns the store, which goes on meanwhile."""
    from api.cli.client.running_service import find_service

    require_store(data_dir)
    target = folder.absolute()
    service = find_service(data_dir)
    if service is None:
        from pipeline.backup.writing import write_backup

        with opened_store(data_dir) as store:
            summary = write_backup(store, target, with_snapshots=with_snapshots).summary()
    else:
        summary = _written_there(service, target, with_snapshots=with_snapshots)
    _print(summary, as_json=as_json, sentence=f"Backup in {target}")


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder of a backup.")],
    data_dir: DataDir = Path("data/store"),
    erasures: Annotated[
        Path | None,
        typer.Option(
            "--erasures", help="Data folder or newer backup: who was erased there since is erased here, too."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify a backup, and restore it into an empty data folder; its webhooks are held."""
    from pipeline.backup.restoring import restore_backup

    if erasures is not None and not erasures.is_dir():
        raise typer.BadParameter(f"{erasures} is no folder", param_hint="--erasures")
    manifest = restore_backup(folder.absolute(), settings_for(data_dir), erasures=erasures)
    summary = manifest.summary()
    if erasures is not None:
        from pipeline.erasure.person_erasure import erase_again

        with opened_store(data_dir) as store:
            summary["erased"] = erase_again(store, since=manifest.taken_at, actor="cli")
    summary["webhooks_held"] = True
    _print(summary, as_json=as_json, sentence=f"Restored into {data_dir}")
    if not as_json:
        out.print(f"{WEBHOOKS_HELD} --data-dir {data_dir}", soft_wrap=True, highlight=False, markup=False)
    if erasures is not None and not as_json:
        out.print(f"Erased once more: {summary['erased']} persons.", highlight=False)


def _written_there(service: "RunningService", folder: Path, *, with_snapshots: bool) -> dict[str, Any]:
    """Let the service write the backup, however long it takes."""
    from api.cli.client.running_service import ServiceClient
    from pipeline.encryption_key import operator_token

    client = ServiceClient(service, operator_token(service.settings), timeout_seconds=None)
    body = {"folder": str(folder), "with_snapshots": with_snapshots}
    summary: dict[str, Any] = client.post("/operator/backups", body)["data"]
    return summary


def _print(summary: dict[str, Any], *, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json(summary)
        return
    key = "" if summary["has_secrets_key"] else "; TRUELIFT_SECRETS_KEY is not in it: keep it elsewhere"
    out.print(
        f"{sentence}: {summary['files']} files, {summary['bytes'] / 2**20:,.1f} MiB, as of "
        f"{summary['taken_at']}{key}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
