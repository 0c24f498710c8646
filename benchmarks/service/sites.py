"""Projects to send events to, and the services that take them."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from api.app import create_app
from api.server.config import server_config
from benchmarks.service.serving import free_port, wait_until_ready
from engine.design import lifecycle
from engine.design.project import draft_project
from pipeline.requests.experiments import create_draft
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id, new_sdk_key


@dataclass(frozen=True, slots=True)
class Site:
    """A project with a running experiment, the folder of its store, and a key that reads its results."""

    data_dir: Path
    project_id: str
    sdk_key: str
    experiment_id: str
    variant_id: str
    token: str


def a_site(data_dir: Path, fields_of_draft: Mapping[str, Any] | None = None) -> Site:
    """Create a store with a project whose experiment runs, of two variants and one goal by default."""
    now = datetime.now(UTC)
    with open_pipeline(Settings(data_dir=data_dir)) as store:
        catalog = store.catalog
        account, _, token = catalog.accounts.create("Bench", "bench@example.com", "scale")
        fields = {"name": "Shop", "url": "https://shop.example"}
        project = draft_project(
            fields, id=new_id("prj"), account_id=account.id, sdk_key=new_sdk_key(), now=now
        )
        catalog.projects.create(project, actor="bench")
        draft = {
            "name": "Checkout",
            "variants": [{"name": "Control", "is_control": True}, {"name": "Treatment"}],
            "goals": [{"name": "Order", "goal_type": "revenue", "is_primary": True, "config": {}}],
            **(fields_of_draft or {}),
        }
        experiment = create_draft(catalog, project, draft, now=now, actor="bench")
        start = partial(lifecycle.start, now=now)
        catalog.experiments.change(project.id, experiment.id, start, actor="bench")
    return Site(data_dir, project.id, project.sdk_key, experiment.id, experiment.variants[1].id, token)


def serve_site(port: int, data_dir: Path) -> None:
    """Serve the store in this process."""
    settings = Settings(data_dir=data_dir, base_url=f"http://127.0.0.1:{port}")
    uvicorn.Server(server_config(create_app(settings), settings, port=port)).run()


@contextmanager
def shipped_service(site: Site) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run `truelift serve` on a store; yield its port and its process."""
    port = free_port()
    truelift = str(Path(sys.executable).with_name("truelift"))
    command = [truelift, "serve", "--data-dir", str(site.data_dir), "--port", str(port)]
    # One address sends all of the load.
    limits = {
        "TRUELIFT_SDK_RATE_LIMIT_PER_MINUTE": str(10**9),
        "TRUELIFT_BROWSER_EVENTS_PER_MINUTE": str(10**9),
    }
    limits |= {f"TRUELIFT_{whose}_BYTES_PER_MINUTE": str(2**50) for whose in ("BROWSER", "ADDRESS")}
    environment = {**os.environ, **limits, "TRUELIFT_ADDRESS_EVENTS_PER_MINUTE": str(10**9)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as service:
        try:
            wait_until_ready(port)
            yield port, service
        finally:
            service.terminate()
