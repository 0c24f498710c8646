"""Import of a described source: its rows are read, judged as a whole, and stored."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl
from msgspec.structs import replace

from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.clock import utc_now
from pipeline.events.decode import RequestContext
from pipeline.events.project_ids import ProjectIds
from pipeline.imports.event_import import NO_PROGRESS, OnProgress, store_events
from pipeline.imports.event_rows import ReadEvents, read_event_rows
from pipeline.imports.exposed_experiments import SeenExposures, find_or_draft, with_ids
from pipeline.imports.import_result import Imported, ImportStores, require_few_bad_rows
from pipeline.imports.imported_experiment import (
    ImportRefusedError,
    find_last_visit,
    is_over,
    pause_since_last_visitor,
    run_from_first_to_last_visitor,
)
from pipeline.imports.importer import import_visitors
from pipeline.imports.source_rows import event_fields
from pipeline.imports.staged_rows import StagedChunk, StagedRows, staged_rows
from pipeline.imports.visitor_rows import VisitorColumns, VisitorTables
from pipeline.sources.definition import Source
from pipeline.sources.definition_files import DefinedSource, event_sources_beside
from pipeline.sources.tables import Chunk, read_tables
from pipeline.sources.times import count_repeated
from pipeline.sources.watermarks import NEVER_IMPORTED, Watermark, read_watermarks, write_watermark

_GOAL_TYPES: Final = {"conversion": "custom_event", "revenue": "revenue"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSource:
    """Result of the import of a source: numbers, the experiments of its rows, and how far it was read.

    `sums` are the rows that came back of a warehouse, whose own rows are counted there and not imported.
    `drift` has the ids of experiments whose state there had other sums than a count of all rows.
    """

    name: str
    imported: Imported
    experiments: tuple[Experiment, ...]
    watermark: Watermark
    sums: int | None = None
    drift: tuple[str, ...] = ()


def import_source(
    defined: DefinedSource,
    project: Project,
    *,
    store: ImportStores,
    on_progress: OnProgress = NO_PROGRESS,
) -> ImportedSource:
    """Import the new rows of a source, in any order and of any age, or nothing of a source that is refused.

    All rows are read and judged before the first is stored. They are stored in chunks, so that an import that
    is interrupted has stored some of them; the same import again completes it.

    Raises:
        UnreadableSourceError: a table cannot be read, lacks a column, or has too many unusable rows.
        ImportRefusedError: its rows are of no experiment, or of one that cannot take them. New rows of one
            that is over are left out instead, so that a table of several can be imported every night.
        InvalidDesignError: an experiment cannot be as the source describes it.
    """
    before = read_watermarks(store.settings.data_dir, project.id).get(defined.name, NEVER_IMPORTED)
    meaning = defined.source.meaning
    if before.meaning not in {None, meaning}:
        raise ImportRefusedError(
            f"the description of {defined.name} changed since its last import, by which its rows are known "
            f"({before.meaning}): each would count once more. Change it back, or describe other rows in a "
            "file of another name"
        )
    if defined.source.kind == "visitors":
        imported = import_visitors(visitor_tables(defined), project, store=store, on_progress=on_progress)
        experiments = tuple(one for one in (imported.experiment,) if one is not None)
        newest_us = imported.newest_us
    else:
        imported, experiments, newest_us = _import_events(defined, before, project, store, on_progress)
    newest = None if newest_us is None else from_epoch_microseconds(newest_us)
    watermark = Watermark(
        imported_at=utc_now(),
        newest_at=max(filter(None, (newest, before.newest_at)), default=None),
        rows=imported.rows + imported.known_rows,
        new_rows=imported.rows,
        rejected=imported.rejected,
        meaning=meaning,
        experiments=tuple(one.id for one in experiments) if defined.source.kind == "exposures" else (),
        awaits=_awaited(defined, project, store) if imported.rows else before.awaits,
    )
    write_watermark(store.settings.data_dir, project.id, defined.name, watermark)
    return ImportedSource(name=defined.name, imported=imported, experiments=experiments, watermark=watermark)


def visitor_tables(defined: DefinedSource) -> VisitorTables:
    """Build the tables of a source of visitors; UnreadableSourceError."""
    source = defined.source
    return VisitorTables(
        tables=defined.tables(),
        columns=visitor_columns(source),
        name=source.name or defined.name,
        control=source.control or "",
        max_bad_share=source.max_bad_share,
    )


def visitor_columns(source: Source) -> VisitorColumns:
    """Build the columns of a source of visitors."""
    return VisitorColumns(
        variant=source.columns.variant or "",
        goals={name: _GOAL_TYPES[kind] for name, kind in source.goals.items()},
        visitor=source.columns.visitor,
        timestamp=source.columns.timestamp,
        segments=source.columns.segments,
        unit=source.columns.unit,
        time_zone=source.time_zone,
    )


def read_source_events(chunk: Chunk, source: Source, project: Project, *, now_us: int) -> ReadEvents:
    """Read rows of a source of exposures or events; experiments and variants are as the rows name them."""
    fields = event_fields(chunk, source, now_us=now_us, currency=project.revenue_currency)
    context = RequestContext(
        received_us=now_us, project_ids=_as_named(fields.rows), sender="import", max_age_us=None
    )
    return read_event_rows(fields, context)


def _as_named(rows: pl.DataFrame) -> ProjectIds:
    """Take every experiment and variant of the rows, which are checked once all of them are read."""
    if "experiment_id" not in rows.columns:
        return ProjectIds({}, frozenset())
    groups = rows.group_by("experiment_id").agg(pl.col("variant_id").unique())
    return ProjectIds({name: frozenset(variants) for name, variants in groups.iter_rows()}, frozenset())


def _import_events(
    defined: DefinedSource,
    before: Watermark,
    project: Project,
    store: ImportStores,
    on_progress: OnProgress,
) -> tuple[Imported, tuple[Experiment, ...], int | None]:
    now = utc_now()
    seen = SeenExposures()
    with staged_rows(store) as staged:
        found = defined.tables(newest_at=before.newest_at)
        with closing(read_tables(found, defined.source.columns.named)) as chunks:
            read, newest_us = _stage(
                chunks,
                defined.source,
                project,
                staged,
                seen,
                now_us=epoch_microseconds(now),
                on_progress=on_progress,
            )
        experiments = find_or_draft(store, project, defined.source, seen, now=now)
        for experiment, last in _last_visits(store, experiments.values()):
            # Whatever ends this import, the time since the rows of earlier ones is not counted by then.
            pause_since_last_visitor(store.catalog, experiment, last=last, now=utc_now())
        if experiments:
            # Nor is any of them judged by exposures whose events are not imported yet.
            ids = tuple(experiment.id for experiment in experiments.values())
            waiting = replace(before, experiments=ids, awaits=_awaited(defined, project, store))
            write_watermark(store.settings.data_dir, project.id, defined.name, waiting)
        stored = store_events(
            _identified(staged, experiments),
            project.id,
            store=store,
            over=[experiment.id for experiment in experiments.values() if is_over(experiment)],
            on_progress=on_progress,
        )
    firsts = [from_epoch_microseconds(seen.first_us[name]) for name in experiments]
    lasts = _last_visits(store, experiments.values())
    started = tuple(
        run_from_first_to_last_visitor(store.catalog, experiment, first=first, last=last)
        for first, (experiment, last) in zip(firsts, lasts, strict=True)
    )
    return read.plus(stored), started, newest_us


def _awaited(defined: DefinedSource, project: Project, store: ImportStores) -> tuple[str, ...]:
    """Name the sources of events that belong to new exposures."""
    if defined.source.kind != "exposures":
        return ()
    found = event_sources_beside(defined, project.id)
    if len(store.catalog.projects.all()) > 1:
        # Those without a project may be of another one.
        known = read_watermarks(store.settings.data_dir, project.id)
        found = [name for name in found if name in known]
    return tuple(found)


def _stage(  # noqa: PLR0913 - each is a fact of the import
    chunks: Iterable[Chunk],
    source: Source,
    project: Project,
    staged: StagedRows,
    seen: SeenExposures,
    *,
    now_us: int,
    on_progress: OnProgress,
) -> tuple[Imported, int | None]:
    """Read every row to the disk; return the rejected rows, and the newest time."""
    imported, usable = Imported(), 0
    newest: list[int] = []
    for chunk in chunks:
        read = read_source_events(chunk, source, project, now_us=now_us)
        staged.add(StagedChunk(chunk.table, read.events, chunk.done))
        repeated = count_repeated(chunk.rows, source.columns.timestamp, source.time_zone)
        imported = imported.with_rejected(read.bad_rows).with_repeated_times(repeated)
        on_progress("reading", chunk.done)
        usable += read.events.height
        if read.events.height:
            newest.append(int(read.events.select(pl.col("occurred_at").max()).item()))
        if source.kind == "exposures":
            seen.add(read.events)
    require_few_bad_rows(imported, usable, source.max_bad_share)
    return imported, max(newest, default=None)


def _last_visits(
    store: ImportStores, experiments: Iterable[Experiment]
) -> list[tuple[Experiment, datetime | None]]:
    store.ingest.load()
    with store.warehouse.cursor() as cursor:
        return [(experiment, find_last_visit(cursor, experiment)) for experiment in experiments]


def _identified(staged: StagedRows, experiments: Mapping[str, Experiment]) -> Iterable[StagedChunk]:
    for chunk in staged:
        rows = with_ids(chunk.rows, experiments) if experiments else chunk.rows
        yield chunk._replace(rows=rows)
