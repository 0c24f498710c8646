"""Rate and latency of the REST API, against the same routes with no authentication and no store.

Both services read, judge and write the same JSON; the peer's caller and project are made up, where ours looks
up the key, counts the request, and reads or commits. They are measured in turn, by a load from a process of
its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import Request
from rich import print as show

from api.app import create_app
from api.auth import Caller
from api.deps import authenticated, services_of
from api.services import Services
from benchmarks.service.serving import served
from engine.design.project import Project, draft_project
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.experiments import Experiments
from pipeline.store.catalog.ids import new_id, new_sdk_key
from pipeline.store.catalog.keys import SCOPES, ApiKey
from pipeline.store.catalog.projects import Projects

SECONDS = float(os.environ.get("BENCH_API_SECONDS", "5"))
ROUNDS = 3
CONNECTIONS = 64
NO_LIMIT = 10**9
NEW_PROJECT = {"name": "Shop", "url": "https://shop.example"}
NOW = datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Site:
    """A store with a project, and a key to it."""

    data_dir: Path
    project_id: str
    token: str


@dataclass(frozen=True, slots=True)
class Measured:
    """Answers per second, and seconds an answer took."""

    rate: float
    median: float
    slowest: float


class OneProject(Projects):
    """A stand-in for the store of projects: always the same project."""

    def get(self, account_id: str, project_id: str) -> Project:
        """Create the project once."""
        return _a_project(account_id, project_id)

    def create(self, project: Project, *, actor: str) -> Project:  # noqa: ARG002 - the signature of what it stands for
        """Drop the project."""
        return project


class NoExperiments(Experiments):
    """A stand-in for the store of experiments: none runs."""

    def running_counts(self, project_ids: Collection[str]) -> dict[str, int]:
        """Count none."""
        return dict.fromkeys(project_ids, 0)


def run() -> list[dict[str, Any]]:
    """Measure a read and a create: rates, latencies, and their ratios to the peer's."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ours, peer = _a_site(Path(folder, "ours")), _a_site(Path(folder, "peer"))
        ports = {
            "ours": stack.enter_context(served(_serve, ours.data_dir)),
            "peer": stack.enter_context(served(_serve_without_store, peer.data_dir)),
        }
        requests = {"GET a project": _reading(ours), "POST a project": _creating(ours)}
        return [_row(what, _in_turn(ports, request)) for what, request in requests.items()]


def _in_turn(ports: dict[str, int], request: str) -> dict[str, Measured]:
    """Return the best round of each, in turns, so that other load on the machine affects both."""
    rounds = [{name: _measured(port, request) for name, port in ports.items()} for _ in range(ROUNDS)]
    return {name: max((one[name] for one in rounds), key=lambda found: found.rate) for name in ports}


def _row(what: str, found: dict[str, Measured]) -> dict[str, Any]:
    ours, peer = found["ours"], found["peer"]
    return {
        "what": what,
        "ours/s": f"{ours.rate:,.0f}",
        "peer/s": f"{peer.rate:,.0f}",
        "ratio": f"{ours.rate / peer.rate:.2f}",
        "p50 ms": f"{1000 * ours.median:.0f}",
        "to peer's": f"{ours.median / peer.median:.2f}",
        "p99 ms": f"{1000 * ours.slowest:.0f}",
        "to peer's p99": f"{ours.slowest / peer.slowest:.2f}",
    }


def _measured(port: int, request: str) -> Measured:
    load = {"port": port, "request": request, "connections": CONNECTIONS, "seconds": SECONDS}
    command = [sys.executable, str(Path(__file__).with_name("request_load.py")), json.dumps(load)]
    return Measured(*json.loads(subprocess.run(command, check=True, capture_output=True).stdout))


def _reading(site: Site) -> str:
    return f"GET /api/v1/projects/{site.project_id} HTTP/1.1\r\n{_headers(site)}\r\n"


def _creating(site: Site) -> str:
    body = json.dumps(NEW_PROJECT)
    headers = f"{_headers(site)}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"POST /api/v1/projects HTTP/1.1\r\n{headers}\r\n{body}"


def _headers(site: Site) -> str:
    return f"Host: localhost\r\nAuthorization: Bearer {site.token}\r\n"


def _a_site(data_dir: Path) -> Site:
    with open_pipeline(Settings(data_dir=data_dir)) as store:
        account, _, token = store.catalog.accounts.create("Bench", "bench@example.com")
        store.catalog.accounts.update(account.id, max_projects=NO_LIMIT, rate_limit=NO_LIMIT)
        project = store.catalog.projects.create(_a_project(account.id, new_id("prj")), actor="bench")
    return Site(data_dir, project.id, token)


@cache
def _a_project(account_id: str, project_id: str) -> Project:
    return draft_project(NEW_PROJECT, id=project_id, account_id=account_id, sdk_key=new_sdk_key(), now=NOW)


def _serve(port: int, data_dir: Path) -> None:
    app = create_app(Settings(data_dir=data_dir))
    uvicorn.run(app, port=port, log_level="warning", access_log=False)


def _serve_without_store(port: int, data_dir: Path) -> None:
    app = create_app(Settings(data_dir=data_dir))
    caller = _anybody()

    async def services_without_store(request: Request) -> Services:
        services: Services = request.app.state.services
        database = services.catalog.database
        catalog = replace(
            services.catalog, projects=OneProject(database), experiments=NoExperiments(database)
        )
        return replace(services, catalog=catalog)

    async def anybody() -> Caller:
        return caller

    app.dependency_overrides.update({authenticated: anybody, services_of: services_without_store})
    uvicorn.run(app, port=port, log_level="warning", access_log=False)


def _anybody() -> Caller:
    account = Account(
        id="acc_bench",
        name="Bench",
        slug="bench",
        plan="scale",
        subscription_status="active",
        max_projects_override=None,
        rate_limit_override=None,
        created_at=NOW,
    )
    key = ApiKey(
        id="key_bench",
        account_id=account.id,
        member_id="mem_bench",
        name="Bench",
        environment="live",
        key_prefix="svc_live_bench",
        scopes=SCOPES,
        project_ids=(),
        last_used_at=None,
        revoked_at=None,
        created_at=NOW,
    )
    return Caller(key, account)


if __name__ == "__main__":
    for line in run():
        show(line)
