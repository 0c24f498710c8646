"""Services of the pipeline: the open store, and what works on it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime

from pipeline.clock import utc_now
from pipeline.ingest import Ingest
from pipeline.results.results import Results
from pipeline.rollup.run import Rollup
from pipeline.settings import Settings
from pipeline.snapshots.writer import Snapshots
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse.connection import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineServices:
    """Everything that works on one data folder, in this process; `clock` returns the time, aware."""

    settings: Settings
    catalog: Catalog
    warehouse: Warehouse
    ingest: Ingest
    rollup: Rollup
    results: Results
    snapshots: Snapshots
    clock: Callable[[], datetime] = utc_now


@contextmanager
def open_pipeline(
    settings: Settings, *, clock: Callable[[], datetime] = utc_now
) -> Iterator[PipelineServices]:
    """Open the catalog and the warehouse and start ingest; stop and close them in reverse order at the end.

    Raises:
        WarehouseBusyError: another process owns the warehouse.
    """
    with ExitStack() as stack:
        catalog = Catalog.open(settings)
        stack.callback(catalog.close)
        warehouse = Warehouse.open(settings)
        stack.callback(warehouse.close)
        ingest = Ingest(warehouse, settings)
        ingest.start()
        stack.callback(ingest.stop)
        rollup = Rollup(warehouse, catalog, settings, clock=clock)
        stack.callback(rollup.close)
        snapshots = Snapshots(warehouse, catalog, settings, clock=clock)
        stack.callback(snapshots.close)
        yield PipelineServices(
            settings=settings,
            catalog=catalog,
            warehouse=warehouse,
            ingest=ingest,
            rollup=rollup,
            results=Results(warehouse, rollup, catalog.recorded_looks, settings),
            snapshots=snapshots,
            clock=clock,
        )
