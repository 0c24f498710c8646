"""Time of `/sdk/init`: of new visitors by the number of experiments, and the first after a start.

The peers are an application that only decodes the body and hashes the visitor once an experiment, and the
service's own `GET /api/v1/projects/{id}`, each asked by one client in turn in the same run. Times are medians
with 99th percentiles, and the processor time of the server. The first one after a start is asked for on a
store of BENCH_INIT_EVENTS events, once without the files of first assignments and once with them.
"""

import http.client
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import mmh3
import msgspec
import numpy as np
import polars as pl
import psutil
import uvicorn
from rich import print as show
from starlette.types import Receive, Scope, Send

from api.app import create_app
from api.server.config import server_config
from benchmarks.service.serving import served
from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.project import draft_project
from pipeline.events.text_hashes import hash_texts
from pipeline.requests.experiments import create_draft
from pipeline.services import PipelineServices, open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id, new_sdk_key

EVENTS = int(os.environ.get("BENCH_INIT_EVENTS", "2000000"))
REQUESTS = int(os.environ.get("BENCH_INIT_REQUESTS", "400"))
ROUNDS = 3
WARM_UP = 30
NUMBERS_OF_EXPERIMENTS = (2, 10, 50)
EVENTS_A_VISITOR = 5
BATCH = 1_000_000
PAGE = "https://shop.example/cart?utm_source=news"


@dataclass(frozen=True, slots=True)
class Site:
    """A store with a project, a public key and a secret one."""

    data_dir: Path
    project_id: str
    sdk_key: str
    token: str


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that answers took, and processor seconds of the server for each."""

    seconds: list[float]
    processor: float

    def row(self) -> dict[str, str]:
        """Lay out the columns of a table."""
        median, slowest = np.percentile(self.seconds, [50, 99])
        return {
            "p50 ms": f"{1000 * median:.2f}",
            "p99 ms": f"{1000 * slowest:.2f}",
            "processor ms": f"{1000 * self.processor:.2f}",
        }


def run() -> list[dict[str, Any]]:
    """Measure both rows."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for count in NUMBERS_OF_EXPERIMENTS for row in _new_visitors(Path(folder), count)]
        return [*rows, *_first_after_start(Path(folder, "large"))]


def _new_visitors(folder: Path, count: int) -> Iterator[dict[str, Any]]:
    site = a_site(folder / str(count), count)
    with _server(serve_site, site.data_dir) as ours, _server(serve_bare, count) as bare:
        asked: dict[str, Callable[[int], Times]] = {
            f"init, {count} experiments": partial(_inits, site, ours),
            "bare body and hashes": partial(_inits, site, bare),
            "GET a project": partial(_reads, site, ours),
        }
        # In turn, so that whatever else the machine does falls on all of them; the best round counts.
        rounds = [{name: ask(number) for name, ask in asked.items()} for number in range(ROUNDS)]
    best = {
        name: min((one[name] for one in rounds), key=lambda times: np.median(times.seconds)) for name in asked
    }
    for name, times in best.items():
        ratios = {
            f"to {peer}": f"{np.median(times.seconds) / np.median(best[peer].seconds):.2f}"
            for peer in ("bare body and hashes", "GET a project")
        }
        yield {"what": name, **times.row(), **ratios, "ready s": ""}


def _first_after_start(data_dir: Path) -> Iterator[dict[str, Any]]:
    site = a_site(data_dir, 2, fill)
    for what in ("without files", "with files"):
        began = time.perf_counter()
        with _server(serve_site, site.data_dir) as server:
            ready = time.perf_counter() - began
            times = _timed(server, lambda _: _init_of(site, "a new visitor"), 1, warm_up=0)
        yield {
            "what": f"first init after a start, {EVENTS / 1e6:g}M events, {what}",
            **times.row(),
            **dict.fromkeys(("to bare body and hashes", "to GET a project"), ""),
            "ready s": f"{ready:.2f}",
        }
    shutil.rmtree(data_dir)


def _inits(site: Site, server: "Server", number: int) -> Times:
    return _timed(server, lambda place: _init_of(site, f"visitor-{number}-{place}"), REQUESTS)


def _reads(site: Site, server: "Server", _number: int) -> Times:
    headers = {"Authorization": f"Bearer {site.token}"}
    return _timed(server, lambda _: ("GET", f"/api/v1/projects/{site.project_id}", None, headers), REQUESTS)


@dataclass(frozen=True, slots=True)
class Server:
    """A service, and its process."""

    port: int
    process: psutil.Process

    def processor_seconds(self) -> float:
        """Return the processor time that it has used."""
        used = self.process.cpu_times()
        return float(used.user + used.system)


@contextmanager
def _server(serve: Callable[..., None], *arguments: object) -> Iterator[Server]:
    before = set(psutil.Process().children())
    with served(serve, *arguments) as port:
        (process,) = [
            one for one in set(psutil.Process().children()) - before if "spawn_main" in str(one.cmdline())
        ]
        yield Server(port, process)


Request = tuple[str, str, str | None, dict[str, str]]


def _timed(server: Server, request: Callable[[int], Request], count: int, *, warm_up: int = WARM_UP) -> Times:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    seconds: list[float] = []
    used = server.processor_seconds()
    for place in range(-warm_up, count):
        if place == 0:
            used = server.processor_seconds()
        began = time.perf_counter()
        method, path, body, headers = request(place)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(content.decode())
        if place >= 0:
            seconds.append(time.perf_counter() - began)
    connection.close()
    return Times(seconds, (server.processor_seconds() - used) / count)


def _init_of(site: Site, visitor_id: str) -> Request:
    body = json.dumps({"visitor_id": visitor_id, "url": PAGE, "attributes": {"country": "DE"}})
    headers = {"X-SDK-Key": site.sdk_key, "Content-Type": "application/json"}
    return "POST", "/api/v1/sdk/init", body, headers


def a_site(
    data_dir: Path, count: int, fill_store: Callable[[PipelineServices, list[Experiment]], None] | None = None
) -> Site:
    """Create a store with a project and some running experiments, targeted at most visitors."""
    now = datetime.now(UTC)
    with open_pipeline(Settings(data_dir=data_dir)) as store:
        account, _, token = store.catalog.accounts.create("Bench", "bench@example.com")
        store.catalog.accounts.update(account.id, rate_limit=10**9)
        fields = {"name": "Shop", "url": "https://shop.example"}
        project = draft_project(
            fields, id=new_id("prj"), account_id=account.id, sdk_key=new_sdk_key(), now=now
        )
        store.catalog.projects.create(project, actor="bench")
        experiments: list[Experiment] = []
        for number in range(count):
            draft = create_draft(store.catalog, project, _draft(number), now=now, actor="bench")
            start = partial(lifecycle.start, now=now)
            experiments.append(store.catalog.experiments.change(project.id, draft.id, start, actor="bench"))
        if fill_store is not None:
            fill_store(store, experiments)
    return Site(data_dir, project.id, project.sdk_key, token)


def _draft(number: int) -> dict[str, Any]:
    condition = {"field": "country", "operator": "not_in", "values": ["US"]}
    change = {"selector": "#buy", "action": "modify_text", "value": "Buy now"}
    return {
        "name": f"Checkout {number}",
        "url_match_type": "starts_with",
        "variants": [{"name": "Control", "is_control": True}, {"name": "Treatment", "changes": [change]}],
        "targeting_rules": {"version": 2, "root": {"operator": "and", "children": [condition]}},
        "goals": [
            {"name": "Order", "goal_type": "revenue", "is_primary": True, "config": {}},
            {"name": "Signup", "goal_type": "custom_event", "config": {"event_name": "signup"}},
            {"name": "Thanks", "goal_type": "pageview", "config": {"url": "https://shop.example/thanks"}},
        ],
    }


def fill(store: PipelineServices, experiments: list[Experiment]) -> None:
    """Store EVENTS events, of each visitor an exposure to every experiment and pageviews."""
    received = int(datetime.now(UTC).timestamp() * 1e6)
    for first in range(0, EVENTS, BATCH):
        numbers = range(first, min(first + BATCH, EVENTS))
        visitors = [f"v{number // EVENTS_A_VISITOR}" for number in numbers]
        shown = [
            experiments[number % EVENTS_A_VISITOR] if number % EVENTS_A_VISITOR < len(experiments) else None
            for number in numbers
        ]
        table = pl.DataFrame(
            {
                "received_at": received,
                "occurred_at": received,
                "event_id": [f"e{number}" for number in numbers],
                "event_key": pl.Series(numbers, dtype=pl.UInt64),
                "type": ["pageview" if one is None else "exposure" for one in shown],
                "visitor_id": visitors,
                "visitor_key": hash_texts(pl.Series(visitors, dtype=pl.String)),
                "experiment_id": [None if one is None else one.id for one in shown],
                "variant_id": [None if one is None else one.variants[0].id for one in shown],
                "is_refund": False,
                "is_bot": False,
            }
        )
        store.ingest.write_now(experiments[0].project_id, table)


def serve_site(port: int, data_dir: Path) -> None:
    """Serve the store."""
    settings = Settings(data_dir=data_dir)
    uvicorn.Server(server_config(create_app(settings), settings, port=port)).run()


def serve_bare(port: int, count: int) -> None:
    """Serve an application that decodes bodies and hashes visitors, and does nothing else."""
    decode = msgspec.json.Decoder(dict[str, Any]).decode

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        if scope["type"] == "http":
            while (message := await receive())["type"] == "http.request":
                body += message.get("body", b"")
                if not message.get("more_body"):
                    break
        visitor = str(decode(body).get("visitor_id")) if body else ""
        hashes = [mmh3.hash(f"v:{number}:1:{visitor}", 0, signed=False) for number in range(count)]
        answer = msgspec.json.encode({"visitor_id": visitor, "assignments": hashes})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    uvicorn.run(app, port=port, log_level="warning", access_log=False, lifespan="off")


if __name__ == "__main__":
    for line in run():
        show(line)
