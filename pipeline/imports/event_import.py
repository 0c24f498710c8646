"""Import of tables of events into the store."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final, Literal

import polars as pl

from engine.design.project import Project
from pipeline.clock import utc_now_us
from pipeline.erased_keys import ErasedKeys
from pipeline.events.decode import RequestContext
from pipeline.events.project_ids import ProjectIds
from pipeline.imports.event_contents import CLAIMED_AT, number_events
from pipeline.imports.event_rows import read_event_rows
from pipeline.imports.import_result import Imported, ImportStores, require_few_bad_rows
from pipeline.imports.staged_rows import StagedChunk, staged_rows
from pipeline.sources.tables import Table, read_tables
from pipeline.store.warehouse.events import ROW_GROUP_ROWS
from pipeline.store.warehouse.imports.content_counts import ContentCounts
from pipeline.store.warehouse.imports.stored_rows import find_stored_events

Stage = Literal["reading", "storing"]
# Gets the progress of a stage as of a Chunk.
OnProgress = Callable[[Stage, int], None]
NO_PROGRESS: Final[OnProgress] = lambda _stage, _done: None  # noqa: E731 - a default argument


def import_events(
    tables: Sequence[Table],
    project: Project,
    *,
    store: ImportStores,
    max_bad_share: float = 1.0,
    on_progress: OnProgress = NO_PROGRESS,
) -> Imported:
    """Import tables of one row per event, of any age, read as one; rejected rows are in the result.

    All rows are read before the first is stored, so that nothing is stored of a table that breaks off.

    Raises:
        UnreadableSourceError: a table cannot be read, or more than the share `max_bad_share` is unusable.
    """
    context = import_context(store, project)
    imported, usable = Imported(), 0
    with staged_rows(store) as staged:
        with closing(read_tables(tables)) as chunks:
            for chunk in chunks:
                read = read_event_rows(chunk, context)
                staged.add(StagedChunk(chunk.table, read.events, chunk.done))
                imported = imported.with_rejected(read.bad_rows)
                usable += read.events.height
                on_progress("reading", chunk.done)
        require_few_bad_rows(imported, usable, max_bad_share)
        return imported.plus(store_events(staged, project.id, store=store, on_progress=on_progress))


def import_context(store: ImportStores, project: Project) -> RequestContext:
    """Build the facts that imported events of a project share: they are of any age, and trusted."""
    return RequestContext(
        received_us=utc_now_us(),
        project_ids=ProjectIds.of(store.catalog.experiments.of_project(project.id), project),
        sender="import",
        max_age_us=None,
    )


def store_events(
    staged: Iterable[StagedChunk],
    project_id: str,
    *,
    store: ImportStores,
    over: Collection[str] = (),
    on_progress: OnProgress = NO_PROGRESS,
) -> Imported:
    """Store the new ones of staged events, as many at once as a row group of the store has.

    Each such chunk is compared with the store and committed. New exposures of the experiments with an id in
    `over` are left out, and so are events of persons from before they were erased.
    """
    imported = Imported()
    erased = ErasedKeys(store.settings)
    store.ingest.load()
    with store.warehouse.cursor() as cursor:
        counts = ContentCounts(cursor, "events_read")
        for chunk in _in_row_groups(staged):
            with store.ingest.importing:
                is_erased = erased.precede(project_id, chunk.rows, CLAIMED_AT)
                events = number_events(chunk.rows.filter(~is_erased), counts)
                batch = events.filter(events["event_key"].is_first_distinct())
                stored = find_stored_events(cursor, project_id, batch["event_key"])
                if len(stored):
                    batch = batch.filter(~pl.col("event_key").is_in(stored.implode()))
                known, left_out = events.height - batch.height, int(is_erased.sum())
                if over:
                    of_over = pl.col("experiment_id").is_in(list(over)).fill_null(value=False)
                    left_out += batch.filter(of_over).height
                    batch = batch.filter(~of_over)
                store.ingest.write_now(project_id, batch)
            imported = imported.plus(
                Imported(
                    rows=batch.height,
                    events=batch.height,
                    left_out=left_out,
                    known_rows=known,
                    known_events=known,
                )
            )
            on_progress("storing", chunk.done)
    return imported


def _in_row_groups(chunks: Iterable[StagedChunk]) -> Iterator[StagedChunk]:
    """Yield the rows of chunks again, in order, as chunks of ROW_GROUP_ROWS and a last one."""
    waiting: StagedChunk | None = None
    for chunk in chunks:
        waiting = chunk if waiting is None else chunk._replace(rows=pl.concat([waiting.rows, chunk.rows]))
        while waiting.rows.height >= ROW_GROUP_ROWS:
            yield waiting._replace(rows=waiting.rows[:ROW_GROUP_ROWS].rechunk())
            waiting = waiting._replace(rows=waiting.rows[ROW_GROUP_ROWS:])
    if waiting is not None:
        yield waiting._replace(rows=waiting.rows.rechunk())
