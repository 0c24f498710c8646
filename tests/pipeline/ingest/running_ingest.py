"""An ingest that runs, and many requests to it at once."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.ingest.ingest import Ingest
from pipeline.settings import Settings
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import EventRow


@contextmanager
def running(warehouse: Warehouse, settings: Settings) -> Iterator[Ingest]:
    started = Ingest(warehouse, settings)
    started.start()
    try:
        yield started
    finally:
        started.stop()


async def submit_all(ingest: Ingest, *submitted: tuple[str, list[EventRow]]) -> list[BaseException | None]:
    return await asyncio.gather(
        *(ingest.submit(project_id, rows) for project_id, rows in submitted), return_exceptions=True
    )
