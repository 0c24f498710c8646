"""`truelift serve` with two collectors, and a connection to each of them."""

import http.client
import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from engine.design import lifecycle
from engine.design.experiment import Experiment
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from tests.builders import NOW, a_project, an_experiment
from tests.resilience.services import Service
from tests.waiting import wait_until

COLLECTORS = 2
PROJECTS = ("shop", "limited", "quota")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was read whole."""

    status: int
    headers: dict[str, str]
    data: Any


def a_store_in(data_dir: Path) -> str:
    """Create projects with a running experiment each; return a key of their account."""
    with open_pipeline(Settings(data_dir=data_dir)) as pipeline:
        catalog = pipeline.catalog
        account, _, token = catalog.accounts.create("Acme", "owner@acme.example", "scale")
        for name in PROJECTS:
            project = a_project(id=f"prj_{name}", sdk_key=f"pk_{name}", account_id=account.id)
            catalog.projects.create(project, actor="test")
            experiment = an_experiment(id=f"exp_{name}", project_id=project.id)
            catalog.experiments.create(project.id, partial(_made, experiment), actor="test")
            start = partial(lifecycle.start, now=NOW)
            catalog.experiments.change(project.id, experiment.id, start, actor="test")
    return token


def _made(experiment: Experiment, _: object) -> Experiment:
    return experiment


def collectors_of(service: Service) -> list[psutil.Process]:
    """The collectors of a service."""
    return psutil.Process(service.process.pid).children()


def kill_and_wait(service: Service, collector: psutil.Process, *, with_signal: int = signal.SIGKILL) -> None:
    """Kill a collector, or stop it for the owner to kill it, and wait until as many as before run again."""
    # One answers while another starts, and one that is killed at its start ends the service.
    with connections_to_each(service):
        pass
    collector.send_signal(with_signal)
    # Until the owner has waited for it, it is one of its processes.
    wait_until(lambda: collector.pid not in {running.pid for running in collectors_of(service)})
    wait_until(lambda: len(collectors_of(service)) == COLLECTORS)


@contextmanager
def connections_to_each(service: Service) -> Iterator[list[http.client.HTTPConnection]]:
    """Open connections until each collector has one of them, and yield one of each."""
    with ExitStack() as stack:
        found: dict[int, http.client.HTTPConnection] = {}

        def have_all() -> bool:
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
            stack.callback(connection.close)
            assert send(connection, "GET", "/healthz").status == 200
            port = connection.sock.getsockname()[1]
            for collector in collectors_of(service):
                if any(one.raddr and one.raddr.port == port for one in collector.net_connections("tcp")):
                    found.setdefault(collector.pid, connection)
            return len(found) == COLLECTORS

        wait_until(have_all)
        yield [*found.values()]


def send(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None, **headers: str
) -> Answer:
    """Send a request on an open connection."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(
        method,
        path,
        None if body is None else json.dumps(body),
        {"Content-Type": "application/json", **named},
    )
    answer = connection.getresponse()
    text = answer.read()
    found = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(answer.status, found, json.loads(text) if text else None)


def track(connection: http.client.HTTPConnection, name: str, *events: Any, **headers: str) -> Answer:
    """Send events to a project from a browser, or from a server with `authorization`."""
    by = headers if "authorization" in headers else {"x_sdk_key": f"pk_{name}", **headers}
    body = {"batch": list(events), "project_id": f"prj_{name}"}
    return send(connection, "POST", "/api/v1/sdk/track", body, **by)


def an_exposure(name: str, event_id: str, *, visitor: str = "v1", variant: int = 0) -> dict[str, str]:
    """An exposure to the experiment of a project."""
    return {
        "event_id": event_id,
        "type": "exposure",
        "visitor_id": visitor,
        "experiment_id": f"exp_{name}",
        "variant_id": f"var_{variant}",
    }
