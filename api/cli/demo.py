"""Command `demo`: a simulated shop's events are stored, rolled up, and served as results."""

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.console import CommandError, out
from api.cli.options import DataDir
from api.cli.serving import locked_for_service, run_service
from api.cli.stores import new_project, settings_for
from pipeline.clock import utc_now

if TYPE_CHECKING:
    from engine.design.experiment import Experiment
    from engine.design.project import Project
    from pipeline.settings import Settings
    from pipeline.store.ownership.store_lock import StoreLock

MARKER = "made-by-truelift-demo"


def demo(
    data_dir: DataDir = Path("data/demo"),
    visitors: Annotated[int, typer.Option(min=1_000, help="Number of simulated visitors.")] = 200_000,
    host: Annotated[str, typer.Option(help="Address to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on.")] = 8000,
    serve: Annotated[bool, typer.Option(help="Serve at the end, until Ctrl-C.")] = True,
) -> None:
    """Simulate a shop with experiments of known effect, print their verdicts, and serve them."""
    from pipeline.store.ownership.store_lock import locked_store

    settings = _demo_settings(data_dir)
    _require_own_folder(data_dir)
    if not serve:
        with locked_store(settings) as lock:
            _simulate(settings, lock, visitors)
        return
    with locked_for_service(settings, host, port) as (lock, sockets):
        token, project, experiment = _simulate(settings, lock, visitors)
        announce = partial(
            _print_requests, data_dir=data_dir, token=token, project=project, experiment=experiment
        )
        run_service(settings, lock, sockets, announce=announce)


def _demo_settings(data_dir: Path) -> "Settings":
    """Read the settings, but for places outside of the demo's folder: a demo changes nothing there."""
    return settings_for(data_dir).model_copy(update={"catalog_url": None, "snapshots_dir": None})


def _simulate(settings: "Settings", lock: "StoreLock", visitors: int) -> "tuple[str, Project, Experiment]":
    """Fill an empty store, and print the verdicts; returns the key, the project and the first experiment."""
    from api.cli.demo_past import PastClock, make_past
    from api.cli.report_table import render_verdicts
    from engine.simulation.demo_shop import SHOP_TIMEZONE
    from pipeline.results.filters import SegmentFilters
    from pipeline.services import open_pipeline

    _empty_folder(settings.data_dir)
    now = utc_now()
    clock = PastClock(now)
    with open_pipeline(settings, lock=lock, clock=clock) as store:
        account, owner, token = store.catalog.accounts.create(
            name="Demo shop", email="owner@shop.example", plan="scale"
        )
        project = new_project(
            store.catalog,
            account.id,
            {"name": "Shop", "url": "https://shop.example", "reporting_timezone": SHOP_TIMEZONE},
        )
        experiments = make_past(store, clock, project, visitors, owner=owner, now=now)
        reports = [
            store.results.report(experiment, project, SegmentFilters(), now=now) for experiment in experiments
        ]
    out.print(render_verdicts(reports))
    return token, project, experiments[0]


def _require_own_folder(data_dir: Path) -> None:
    """Raise CommandError for a folder with files that are not of a demo."""
    if _contents(data_dir) and not (data_dir / MARKER).exists():
        raise CommandError(f"{data_dir} holds files that are not of a demo; choose another --data-dir")


def _empty_folder(data_dir: Path) -> None:
    """Remove an earlier demo; the caller holds the lock of the store."""
    _require_own_folder(data_dir)
    (data_dir / MARKER).touch()
    for path in _contents(data_dir):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != MARKER:
            path.unlink()


def _contents(data_dir: Path) -> list[Path]:
    """List the files of a folder but for the locks, which a demo holds while it empties the folder."""
    if not data_dir.exists():
        return []
    return [path for path in data_dir.iterdir() if path.suffix != ".lock"]


def _print_requests(
    url: str, *, data_dir: Path, token: str, project: "Project", experiment: "Experiment"
) -> None:
    base = f"{url}/api/v1/projects/{project.id}/experiments"
    mobile = f"{base}/{experiment.id}/results/summary?device_type=mobile"
    lines = [
        f"\nServing on {url} with the key {token}",
        f"Dashboard: {url}/ (sign in with that key, or by `truelift open --data-dir {data_dir}`)",
        "Requests to try (Ctrl-C stops the service):\n",
        f"curl -s {url}/api/v1/projects -H 'Authorization: Bearer {token}'",
        f"curl -s {base} -H 'Authorization: Bearer {token}'",
        f"curl -s '{mobile}' -H 'Authorization: Bearer {token}'\n",
    ]
    for line in lines:
        out.print(line, soft_wrap=True, highlight=False, markup=False)
