"""Import of files of events into the store."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from engine.design.project import Project
from pipeline.clock import utc_now_us
from pipeline.events.decode import ProjectIds, RequestContext
from pipeline.imports.event_rows import number_events, read_event_rows
from pipeline.imports.import_result import Imported, ImportStores
from pipeline.imports.tables import read_files
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.events import EventRow, to_batch
from pipeline.store.warehouse.imports.content_counts import ContentCounts
from pipeline.store.warehouse.imports.stored_rows import find_stored_events


def import_events(
    paths: Sequence[Path],
    project: Project,
    *,
    store: ImportStores,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Imported:
    """Import files of one row per event, of any age, read as one; rejected rows are in the result.

    Rows are read, compared with the stored events and committed in chunks of 50,000.

    Raises:
        UnreadableFileError: a file cannot be read.
    """
    context = RequestContext(
        received_us=utc_now_us(),
        project_ids=ProjectIds.of(store.catalog.experiments.of_project(project.id)),
        sender="import",
        max_age_us=None,
    )
    imported = Imported()
    store.ingest.load()
    with store.warehouse.cursor() as cursor:
        counts = ContentCounts(cursor, "events_read")
        for chunk in read_files(paths):
            read = read_event_rows(chunk, context)
            batch = _new_events(cursor, project.id, number_events(read, counts))
            store.ingest.write_now(project.id, batch)
            new, known = batch.height, len(read.rows) - batch.height
            chunk_result = Imported(rows=new, events=new, known_rows=known, known_events=known)
            imported = imported.plus(chunk_result).with_rejected(read.bad_rows)
            on_progress(chunk.bytes_read)
    return imported


def _new_events(cursor: Cursor, project_id: str, events: Sequence[EventRow]) -> pl.DataFrame:
    """Lay out the events whose ids are not stored, the first of each id."""
    batch = to_batch(events).unique("event_key", keep="first", maintain_order=True)
    stored = find_stored_events(cursor, project_id, batch["event_key"])
    return batch.filter(~pl.col("event_key").is_in(stored.implode()))
