"""Growth of costs: counted work of operations on a service, whatever it stores.

Counts are the same on a busy machine, where times are not.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from fastapi.testclient import TestClient

from api.app import create_app
from api.services import Services
from benchmarks.warehouse.many_events import (
    PROJECT,
    add_events,
    experiments_of,
    spread_exposures,
)
from engine.design.experiment import Experiment
from pipeline.clock import utc_now
from pipeline.events.hashing import hash64
from pipeline.jobs.jobs import JOBS, Job
from pipeline.jobs.scheduler import Scheduler
from pipeline.services import open_pipeline
from pipeline.settings import Settings
from pipeline.store.catalog.schema import experiments as experiment_table
from pipeline.store.documents import document_of
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse import events
from pipeline.webhooks.sending import Sender
from tests.counted_work import counted_catalog, counted_warehouse

# These ask every minute whether a day, or an hour, has passed.
_OWED_ONCE: Final = frozenset({"rebuild_after_midnight", "write_snapshots", "remove_events_beyond_retention"})
# Visitors who come back, of so many experiments.
BACK: Final = 5
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Work:
    """Counted work of an operation: of the warehouse, of the catalog, and of its logs and files on disk."""

    rows_scanned: int
    statements: int
    documents: int
    bytes_written: int


@dataclass(frozen=True, slots=True)
class Site:
    """A service with a project, a key, and its experiments."""

    client: TestClient
    services: Services
    token: str
    experiments: tuple[Experiment, ...]

    def request(self, method: str, path: str, body: object = None) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = self.client.request(method, f"/api/v1{path}", json=body, headers=headers)
        assert answer.status_code == 200, answer.text

    def read(self, path: str) -> None:
        """Read a resource of the project."""
        self.request("GET", f"/projects/{PROJECT.id}/{path}")

    def read_results(self) -> None:
        self.read(f"experiments/{self.experiments[0].id}/results")

    def write_visits(self) -> None:
        """Store a visit of each of the same visitors: an exposure, and an order."""
        at = int(utc_now().timestamp() * 1_000_000)
        rows = [row for place in range(BACK) for row in self._visit(place, at)]
        self.services.ingest.write_now(PROJECT.id, events.to_batch(rows))

    def refresh(self) -> None:
        self.services.rollup.refresh(PROJECT.id)

    def write_and_count(self) -> None:
        self.write_visits()
        self.refresh()

    def _visit(self, place: int, at: int) -> Iterator[EventRow]:
        experiment = self.experiments[place % len(self.experiments)]
        fields: Any = {"received_at": at, "occurred_at": at, "visitor_id": f"back-{place}"}
        fields["visitor_key"] = hash64(fields["visitor_id"])
        shown = {"experiment_id": experiment.id, "variant_id": experiment.variants[0].id}
        money = {"event_name": "purchase", "revenue_cents": 900, "currency": "USD"}
        for kind, content in (("exposure", shown), ("conversion", money)):
            event_id = f"visit-{next(_numbers)}"
            yield EventRow(type=kind, event_id=event_id, event_key=hash64(event_id), **fields, **content)


# Of the same work, whatever is stored: sums of a few more days or rows may be read.
FLAT: Final = 1.3


def _nothing(_site: Site) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Operation:
    """Work that is counted after `before`.

    With ten times the `events`, or the running `experiments`, it is at most so many times as much.
    """

    name: str
    run: Callable[[Site], None]
    before: Callable[[Site], None] = _nothing
    events: float = FLAT
    experiments: float = FLAT


def _track(site: Site) -> None:
    batch = [
        {"event_id": f"view-{next(_numbers)}", "type": "pageview", "visitor_id": "seen", "url": PROJECT.url}
        for _ in range(BACK)
    ]
    site.request("POST", "/sdk/track", {"project_id": PROJECT.id, "batch": batch})
    site.services.ingest.load()


def _init(site: Site) -> None:
    body = {"project_id": PROJECT.id, "visitor_id": f"new-{next(_numbers)}", "url": PROJECT.url}
    site.request("POST", "/sdk/init", body)
    site.services.ingest.load()


def jobs_of_a_minute(site: Site) -> Iterator[Job]:
    """Yield the jobs that run every minute."""
    for job in JOBS:
        is_frequent = job.name == "refresh_results" or 0 < job.seconds(site.services.settings) <= 60
        if is_frequent and job.name not in _OWED_ONCE:
            yield job


def _run_minute(site: Site) -> None:
    for job in jobs_of_a_minute(site):
        job.run(site.services)


def _erase_nobody(site: Site) -> None:
    site.request("DELETE", f"/projects/{PROJECT.id}/visitors/nobody")


def _remove_a_day(site: Site) -> None:
    assert site.experiments[0].started_at
    site.services.rollup.remove_old_events(PROJECT.id, site.experiments[0].started_at + timedelta(days=1))


OPERATIONS: Final = (
    Operation("POST /sdk/track of 5 events", _track),
    # An exposure to each experiment is stored.
    Operation("POST /sdk/init of a new visitor", _init, experiments=10),
    Operation("GET /sdk/config", lambda site: site.request("GET", f"/sdk/config?project_id={PROJECT.id}")),
    # Events of visitors, and repeats of their ids, are found by scans of the keys; of each experiment it is
    # written how far it is counted.
    Operation(
        "refresh after visits of 5 visitors", Site.refresh, Site.write_visits, events=10, experiments=3
    ),
    # Numbers of visitors by minute are added up, no more of which there are than minutes.
    Operation(
        "GET stats, the first after it", lambda site: site.read("stats"), Site.write_and_count, events=10
    ),
    Operation("GET stats, the next", lambda site: site.read("stats"), events=10),
    # More visitors have more of the segments, and so more sums.
    Operation("GET results, the first after it", Site.read_results, Site.write_and_count, events=6),
    Operation("GET results, the next", Site.read_results),
    Operation(
        "jobs of a minute with visits of 5 visitors",
        _run_minute,
        Site.write_visits,
        events=10,
        experiments=3,
    ),
    Operation("jobs of a minute without events", _run_minute),
    # Its ids are looked for in every event, and in the visitor rows of every experiment.
    Operation("erasure of a person that is not there", _erase_nobody, events=10, experiments=10),
    # Keeps the events of visitors of every experiment that runs.
    Operation("removal of events of a day, none of which may go", _remove_a_day, events=10, experiments=2),
)


def measure_all(site: Site) -> dict[Operation, Work]:
    """Count the work of every operation, each of which was done once before."""
    site.write_visits()
    for operation in OPERATIONS:
        operation.run(site)
    return {operation: _measure(operation, site) for operation in OPERATIONS}


def _measure(operation: Operation, site: Site) -> Work:
    operation.before(site)
    written = _stored_bytes(site)
    services = site.services
    # Services of other tests may work in this process.
    with (
        counted_warehouse(services.warehouse) as warehouse,
        counted_catalog(services.catalog.database) as catalog,
    ):
        operation.run(site)
    return Work(
        rows_scanned=warehouse.rows_scanned,
        statements=warehouse.statements + catalog.statements,
        documents=catalog.documents,
        bytes_written=max(_stored_bytes(site) - written, 0),
    )


def _stored_bytes(site: Site) -> int:
    settings = site.services.settings
    # The warehouse's file grows by whole blocks, at checkpoints.
    files = (one for one in settings.data_dir.rglob("*") if one != settings.warehouse_path and one.is_file())
    return sum(file.stat().st_size for file in files)


@contextmanager
def a_site(folder: Path, *, stored: int, experiments: int) -> Iterator[Site]:
    """Serve a project with so many counted events and running experiments, with no job in the background."""
    chosen = experiments_of(experiments)
    settings = Settings(data_dir=folder, fresh_read_seconds=600, refresh_seconds=10**6)
    with open_pipeline(settings) as store:
        account, _, token = store.catalog.accounts.create("Bench", "bench@example.com", "scale")
        store.catalog.accounts.update(account.id, rate_limit=10**9)
        store.catalog.projects.create(replace(PROJECT, account_id=account.id), actor="bench")
        with store.catalog.database.write() as connection:
            connection.execute(experiment_table.insert(), [_row(one) for one in chosen])
        with store.warehouse.transaction() as cursor:
            add_events(cursor, stored)
            spread_exposures(cursor, experiments)
    delivered = patch.object(Sender, "post", lambda *_: 200)
    with delivered, patch.object(Scheduler, "start"), TestClient(create_app(settings)) as client:
        services: Services = client.app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
        now = services.clock()
        site = Site(client, replace(services, clock=lambda: now), token, chosen)
        site.refresh()
        yield site


def _row(experiment: Experiment) -> dict[str, Any]:
    copied = ("id", "project_id", "test_key", "status", "created_at", "updated_at")
    return {"document": document_of(experiment), **{name: getattr(experiment, name) for name in copied}}
