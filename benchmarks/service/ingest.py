"""Acknowledged events per second over HTTP, against the same endpoint that stores nothing.

Both services decode and check every event alike; the peer acknowledges at once, where ours commits to disk
first. They are measured in turn, by a load from a process of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from rich import print as show

import pipeline.services
from api.app import create_app
from api.server.config import server_config
from benchmarks.service.serving import served
from engine.design import lifecycle
from engine.design.project import draft_project
from pipeline.ingest.ingest import Ingest
from pipeline.requests.experiments import create_draft
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id, new_sdk_key
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import EventRow, count_by_type

SECONDS = float(os.environ.get("BENCH_INGEST_SECONDS", "5"))
ROUNDS = 3
# Name, connections at once, and events in each request.
LOADS = (("one event a request", 64, 1), ("500 events a request", 8, 500))
GOAL = 0.5


@dataclass(frozen=True, slots=True)
class Site:
    """A project with a running experiment, and the folder of its store."""

    data_dir: Path
    project_id: str
    sdk_key: str
    experiment_id: str
    variant_id: str


class NoStore(Ingest):
    """The peer: acknowledges at once, and stores nothing."""

    async def submit(self, project_id: str, rows: Sequence[EventRow], size: int | None = None) -> None:
        """Drop the rows."""


def run() -> list[dict[str, Any]]:
    """Measure events per second of both services, the best of several rounds, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        ours, peer = a_site(Path(folder, "ours")), a_site(Path(folder, "peer"))
        with (
            served(serve_site, ours.data_dir, True) as our_port,
            served(serve_site, peer.data_dir, False) as peer_port,
        ):
            rows: list[dict[str, Any]] = []
            acknowledged = 0
            for name, connections, size in LOADS:
                rates: dict[str, list[float]] = {"ours": [], "peer": []}
                # In turn, so that whatever else the machine does falls on both.
                for _ in range(ROUNDS):
                    rate, count = _measured(peer, peer_port, connections, size)
                    rates["peer"].append(rate)
                    rate, count = _measured(ours, our_port, connections, size)
                    rates["ours"].append(rate)
                    acknowledged += count
                rows.append(_row(name, connections, max(rates["ours"]), max(rates["peer"])))
        _require_stored(ours, acknowledged)
    return rows


def _row(name: str, connections: int, ours: float, peer: float) -> dict[str, Any]:
    return {
        "load": name,
        "connections": connections,
        "truelift, events/s": f"{ours:,.0f}",
        "no store, events/s": f"{peer:,.0f}",
        "ratio": f"{ours / peer:.2f}",
        "goal": f"at least {GOAL}",
        "met": "yes" if ours / peer >= GOAL else "no",
    }


def _measured(site: Site, port: int, connections: int, size: int) -> tuple[float, int]:
    """Run one load; return acknowledged events per second, and their number."""
    load = {
        "port": port,
        "sdk_key": site.sdk_key,
        "experiment_id": site.experiment_id,
        "variant_id": site.variant_id,
        "connections": connections,
        "events_a_request": size,
        "seconds": SECONDS,
    }
    command = [sys.executable, str(Path(__file__).with_name("event_load.py")), json.dumps(load)]
    rate, acknowledged = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return rate, acknowledged


def a_site(data_dir: Path) -> Site:
    """Create a store with a project whose experiment runs."""
    now = datetime.now(UTC)
    with open_pipeline(Settings(data_dir=data_dir)) as store:
        catalog = store.catalog
        account, _, _ = catalog.accounts.create("Bench", "bench@example.com")
        fields = {"name": "Shop", "url": "https://shop.example"}
        project = draft_project(
            fields, id=new_id("prj"), account_id=account.id, sdk_key=new_sdk_key(), now=now
        )
        catalog.projects.create(project, actor="bench")
        draft = {
            "name": "Checkout",
            "variants": [{"name": "Control", "is_control": True}, {"name": "Treatment"}],
            "goals": [{"name": "Order", "goal_type": "revenue", "is_primary": True, "config": {}}],
        }
        experiment = create_draft(catalog, project, draft, now=now, actor="bench")
        start = partial(lifecycle.start, now=now)
        catalog.experiments.change(project.id, experiment.id, start, actor="bench")
    return Site(data_dir, project.id, project.sdk_key, experiment.id, experiment.variants[1].id)


def serve_site(port: int, data_dir: Path, stores: bool) -> None:  # noqa: FBT001 (an argument of a process)
    """Serve the store, or with `stores` false the same without storing events."""
    if not stores:
        # The only difference between the two services.
        vars(pipeline.services)["Ingest"] = NoStore
    settings = Settings(data_dir=data_dir)
    uvicorn.Server(server_config(create_app(settings), settings, port=port)).run()


def _require_stored(site: Site, acknowledged: int) -> None:
    """Check that every acknowledged event is stored; RuntimeError."""
    warehouse = Warehouse.open(Settings(data_dir=site.data_dir))
    stored = sum(count_by_type(warehouse, site.project_id).values())
    warehouse.close()
    if stored < acknowledged:
        raise RuntimeError(f"{acknowledged:,} events were acknowledged and {stored:,} stored")


if __name__ == "__main__":
    for line in run():
        show(line)
