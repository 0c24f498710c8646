"""Command `snapshot`: Parquet files of a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.console import CommandError, out, print_json
from api.cli.options import AsJson, DataDir
from api.cli.stores import opened_store, require_store, settings_for

if TYPE_CHECKING:
    from pipeline.snapshots.manifest import Manifest


def snapshot(
    data_dir: DataDir = Path("data/store"),
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", help="Folder of the snapshots.", show_default="snapshots in the data folder"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy events, visitors, orders and sums of every project into Parquet files for other programs."""
    from pipeline.snapshots.writer import Snapshots
    from pipeline.store.ownership.store_lock import StoreOwnedError
    from pipeline.store.warehouse.connection import DISK_FAILURES, WarehouseBusyError

    require_store(data_dir)
    folder = out_dir or settings_for(data_dir).snapshots_path
    taken: list[dict[str, object]] = []
    try:
        with opened_store(data_dir) as store:
            snapshots = Snapshots(store.warehouse, store.catalog, settings_for(data_dir), folder=folder)
            for project in store.catalog.projects.all():
                store.rollup.refresh(project.id)
                written = snapshots.write(project.id)
                taken.append(_fields(written, folder))
                if not as_json:
                    out.print(_summary(written, folder), highlight=False, markup=False, soft_wrap=True)
    except (StoreOwnedError, WarehouseBusyError) as busy:
        raise CommandError(_busy_message(data_dir)) from busy
    except DISK_FAILURES as failure:
        raise CommandError(f"no snapshot could be written into {folder}: {failure}") from failure
    if as_json:
        print_json({"snapshots": taken})


def _fields(written: "Manifest", folder: Path) -> dict[str, object]:
    return {
        "project_id": written.project_id,
        "project_name": written.project_name,
        "folder": str(folder / written.project_id),
        "taken_at": written.taken_at.isoformat(),
        "events": sum(file.rows for file in written.events),
        "experiments": len(written.experiments),
        "bytes": sum(file.bytes for file in written.files),
    }


def _summary(written: "Manifest", folder: Path) -> str:
    events, size = sum(file.rows for file in written.events), sum(file.bytes for file in written.files)
    return (
        f"{written.project_name}: {_counted(events, 'event')} and "
        f"{_counted(len(written.experiments), 'experiment')}, "
        f"{size / 2**20:,.1f} MB in {folder / written.project_id}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _busy_message(data_dir: Path) -> str:
    """Point to the running service's own snapshots, with the time of the newest."""
    from pipeline.snapshots.manifest import MANIFEST, read_manifest

    folder = settings_for(data_dir).snapshots_path
    taken = [read_manifest(path.parent).taken_at for path in folder.glob(f"*/{MANIFEST}")]
    newest = f"the newest is of {max(taken):%Y-%m-%d %H:%M:%S} UTC" if taken else "none is there yet"
    return (
        f"a running service owns the store in {data_dir}; it writes snapshots by itself, every "
        f"TRUELIFT_SNAPSHOT_SECONDS, into {folder}: {newest}. Read those, or stop the service first."
    )
