"""The parts that a service is wired from: opened in order, closed in reverse."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from cryptography.fernet import Fernet

from api.middleware.rate_limits import RateLimits
from pipeline.assignment.first_assignments import Assignments
from pipeline.assignment.project_cache import LiveProjects
from pipeline.encryption_key import open_cipher
from pipeline.ingest import Ingest
from pipeline.jobs.jobs import Workplace
from pipeline.jobs.scheduler import Scheduler
from pipeline.results.exports import Exports
from pipeline.results.results import Results
from pipeline.rollup.run import Rollup
from pipeline.settings import Settings
from pipeline.snapshots.writer import Snapshots
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse.connection import Warehouse


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a request may need."""

    settings: Settings
    catalog: Catalog
    warehouse: Warehouse
    ingest: Ingest
    rollup: Rollup
    results: Results
    exports: Exports
    scheduler: Scheduler
    live_projects: LiveProjects
    assignments: Assignments
    limits: RateLimits
    cipher: Fernet


@contextmanager
def open_services(settings: Settings) -> Iterator[Services]:
    """Open the store and start what runs by itself; stop and close it all at the end."""
    with ExitStack() as stack:
        catalog = Catalog.open(settings)
        stack.callback(catalog.close)
        warehouse = Warehouse.open(settings)
        stack.callback(warehouse.close)
        # This process alone owns the warehouse: who had claimed a request and not answered it is gone.
        catalog.replies.release_all()
        ingest = Ingest(warehouse, settings)
        ingest.start()
        stack.callback(ingest.stop)
        rollup = Rollup(warehouse, catalog, settings)
        stack.callback(rollup.close)
        results = Results(warehouse, rollup, settings)
        snapshots = Snapshots(warehouse, catalog, settings)
        scheduler = Scheduler(Workplace(catalog, warehouse, ingest, rollup, results, snapshots), settings)
        scheduler.start()
        stack.callback(scheduler.stop)
        stack.callback(snapshots.close)
        yield Services(
            settings,
            catalog,
            warehouse,
            ingest,
            rollup,
            results,
            Exports(warehouse, results, settings),
            scheduler,
            LiveProjects(catalog),
            Assignments(warehouse, ingest),
            RateLimits(settings),
            open_cipher(settings),
        )
