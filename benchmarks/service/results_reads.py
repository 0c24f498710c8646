"""Reads of results that nothing has changed since, against a read of a project by the same service.

Sixteen clients repeat one request; each kind of request has its turn in every round, and its best round
counts. A read with `If-None-Match` names the tag of the last answer. Before each round an event arrives, so
that the first read of every round counts it and computes.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from rich import print as show

from api.app import create_app
from benchmarks.service.serving import served
from engine.design.experiment import Experiment
from engine.design.lifecycle import start
from engine.design.project import draft_project
from engine.simulation.demo_shop import DAYS, EXPERIMENTS, GOALS, SHOP_TIMEZONE, shop_events, simulate_shop
from pipeline.clock import utc_now
from pipeline.imports.event_rows import event_batch
from pipeline.requests.experiments import create_draft
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id, new_sdk_key

VISITORS = 100_000
SECONDS = float(os.environ.get("BENCH_API_SECONDS", "5"))
ROUNDS = 3
CONNECTIONS = 16
NO_LIMIT = 10**9
PEER = "GET a project"
VIEWS = ("", "/summary", "/timeseries", "/segments", "?country=US&device_type=mobile")


@dataclass(frozen=True, slots=True)
class Shop:
    """A service with a simulated shop: a key, its project, and one of its experiments."""

    port: int
    token: str
    project: str
    experiment: str

    @property
    def results(self) -> str:
        """Path of the results."""
        return f"{self.project}/experiments/{self.experiment}/results"

    def request(self, path: str, *headers: str) -> str:
        """Build the request of a read."""
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.token}", *headers]
        return "".join(f"{line}\r\n" for line in [*lines, ""])

    def tag_of(self, path: str) -> str:
        """Read an answer, and return its entity tag."""
        with self._send(path) as answer:
            return str(answer.headers["ETag"])

    def add_visitor(self, variant: str) -> None:
        """Let a visitor see a variant."""
        exposure = {
            "event_id": uuid4().hex,
            "type": "exposure",
            "visitor_id": uuid4().hex,
            "experiment_id": self.experiment,
            "variant_id": variant,
        }
        self._send("/api/v1/sdk/track", {"project_id": Path(self.project).name, "batch": [exposure]}).close()

    def _send(self, path: str, body: object = None) -> Any:  # noqa: ANN401 - urllib's answers have no type
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")
        request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        return urllib.request.urlopen(request)  # noqa: S310 - of this machine


@dataclass(frozen=True, slots=True)
class Measured:
    """Answers per second, and seconds an answer took."""

    rate: float
    median: float
    slowest: float


def run() -> list[dict[str, Any]]:
    """Measure every view of results and its 304, with their ratios to the read of a project."""
    with tempfile.TemporaryDirectory() as folder:
        token, experiment = simulate_site(Path(folder), visitors=VISITORS)
        with served(_serve, Path(folder)) as port:
            shop = Shop(port, token, f"/api/v1/projects/{experiment.project_id}", experiment.id)
            rounds = [_measure_all(shop, experiment.variants[0].id) for _ in range(ROUNDS)]
    best = {name: max((one[name] for one in rounds), key=lambda found: found.rate) for name in rounds[0]}
    return [_row(what, found, best[PEER]) for what, found in best.items()]


def _measure_all(shop: Shop, variant: str) -> dict[str, Measured]:
    shop.add_visitor(variant)
    paths = {f"GET results{view}": f"{shop.results}{view}" for view in VIEWS}
    found = {PEER: _measured(shop, shop.request(shop.project))}
    found |= {name: _measured(shop, shop.request(path)) for name, path in paths.items()}
    for name, path in paths.items():
        tag = f"If-None-Match: {shop.tag_of(path)}"
        found[f"{name}: 304"] = _measured(shop, shop.request(path, tag))
    return found


def _measured(shop: Shop, request: str) -> Measured:
    load = {"port": shop.port, "request": request, "connections": CONNECTIONS, "seconds": SECONDS}
    command = [sys.executable, str(Path(__file__).with_name("request_load.py")), json.dumps(load)]
    return Measured(*json.loads(subprocess.run(command, check=True, capture_output=True).stdout))


def _row(what: str, ours: Measured, peer: Measured) -> dict[str, Any]:
    return {
        "what": what,
        "requests/s": f"{ours.rate:,.0f}",
        "to a project's": f"{ours.rate / peer.rate:.2f}",
        "p50 ms": f"{1000 * ours.median:.0f}",
        "p99 ms": f"{1000 * ours.slowest:.0f}",
        "p99 to p50": f"{ours.slowest / ours.median:.1f}",
    }


def simulate_site(
    folder: Path, *, visitors: int, more_goals: tuple[dict[str, Any], ...] = ()
) -> tuple[str, Experiment]:
    """Store a shop of 28 days with three experiments; return a key, and the first experiment."""
    now = utc_now()
    with open_pipeline(Settings(data_dir=folder)) as store:
        account, _, token = store.catalog.accounts.create("Bench", "bench@example.com", "scale")
        store.catalog.accounts.update(account.id, rate_limit=NO_LIMIT)
        described = {"name": "Shop", "url": "https://shop.example", "reporting_timezone": SHOP_TIMEZONE}
        drafted = draft_project(
            described, id=new_id("prj"), account_id=account.id, sdk_key=new_sdk_key(), now=now
        )
        project = store.catalog.projects.create(drafted, actor="bench")
        started = now - timedelta(days=DAYS)
        experiments = []
        for described in EXPERIMENTS:
            fields = {**described, "goals": (*GOALS, *more_goals)}
            draft = create_draft(store.catalog, project, fields, now=started, actor="bench")
            begin = partial(start, now=started)
            experiments.append(store.catalog.experiments.change(project.id, draft.id, begin, actor="bench"))
        for events in shop_events(simulate_shop(experiments, visitors=visitors, until=now, seed=7)):
            store.ingest.write_now(project.id, event_batch(events))
        store.rollup.rebuild(project.id)
    return token, experiments[0]


def _serve(port: int, data_dir: Path) -> None:
    uvicorn.run(create_app(Settings(data_dir=data_dir)), port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    for line in run():
        show(line)
