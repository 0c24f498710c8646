"""Import of tables of visitors into the store."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from engine.design.project import Project
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.clock import utc_now
from pipeline.erased_keys import ErasedKeys
from pipeline.events.text_hashes import hash_texts
from pipeline.imports.anonymous_rows import Sums
from pipeline.imports.event_import import NO_PROGRESS, OnProgress
from pipeline.imports.event_rows import event_batch
from pipeline.imports.import_result import Imported, ImportStores, require_few_bad_rows
from pipeline.imports.imported_experiment import (
    draft_for_files,
    find_experiment,
    find_last_visit,
    pause_since_last_visitor,
    require_control,
    require_counted_here,
    require_same_columns,
    run_from_first_to_last_visitor,
)
from pipeline.imports.new_rows import (
    AnonymousRows,
    ImportTarget,
    NamedRows,
    RowSelection,
    hash_visitor_rows,
)
from pipeline.imports.staged_rows import StagedChunk, StagedRows, staged_rows
from pipeline.imports.visitor_rows import (
    VisitorColumns,
    VisitorTables,
    events_of,
    read_visitors,
)
from pipeline.sources.tables import Chunk, UnreadableSourceError, read_tables
from pipeline.sources.times import count_repeated
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.imports.stored_rows import (
    ImportedInto,
    count_row_kinds,
    count_stored_visitors,
)

MOST_VARIANTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summary:
    """Summary of the rows read; `contents` are the hashes of those without visitor ids, by table."""

    variants: tuple[str, ...]
    first_us: int
    contents: dict[str, Sums]
    imported: Imported


def import_visitors(
    source: VisitorTables,
    project: Project,
    *,
    store: ImportStores,
    on_progress: OnProgress = NO_PROGRESS,
) -> Imported:
    """Create the tables' experiment, or find it from an earlier import, and import every usable new row.

    All rows are read before the first is stored, so that nothing is stored of an unusable table. They are
    compared with the stored ones and committed in chunks of 50,000, so that memory does not grow with their
    number, except by 8 bytes for each row without a visitor id.

    Raises:
        UnreadableSourceError: a column is missing, no row has the control, or no row is usable.
        ImportRefusedError: the experiment is over, or its stored rows could not be told from these rows.
    """
    now = utc_now()
    now_us = epoch_microseconds(now)
    with staged_rows(store) as staged:
        with closing(read_tables(source.tables, source.columns.named)) as chunks:
            summary = _stage(
                chunks,
                source,
                staged,
                now_us=now_us,
                currency=project.revenue_currency,
                on_progress=on_progress,
            )
        experiment = find_experiment(store.catalog, project, source, summary.variants)
        if experiment is None:
            experiment = draft_for_files(store.catalog, project, source, summary.variants, now=now)
        require_counted_here(store.warehouse, experiment)
        require_control(experiment, source.control)
        store.ingest.load()
        with store.warehouse.cursor() as cursor:
            kinds = count_row_kinds(cursor, ImportedInto(project.id, experiment.id))
            require_same_columns(experiment, kinds, source.columns)
            target = ImportTarget(
                experiment=experiment,
                columns=source.columns,
                currency=project.revenue_currency,
                kinds=kinds,
            )
            selection: RowSelection = (
                NamedRows(cursor, target)
                if source.columns.visitor
                else AnonymousRows(cursor, target, summary.contents, now_us=now_us)
            )
            imported = replace(summary.imported, has_earlier_rows=kinds.rows > 0)
            # Whatever ends this import, the time since the rows of earlier ones is not counted by then.
            pause_since_last_visitor(
                store.catalog, experiment, last=find_last_visit(cursor, experiment), now=utc_now()
            )
            for chunk, done in _store_new_rows(cursor, staged, target, selection, store, now_us=now_us):
                imported = imported.plus(chunk)
                on_progress("storing", done)
            last = find_last_visit(cursor, experiment)
    # Rows of an interrupted import, which ended before the experiment was started, may be earlier.
    first_us = summary.first_us if kinds.first_us is None else min(summary.first_us, kinds.first_us)
    first = from_epoch_microseconds(first_us)
    started = run_from_first_to_last_visitor(store.catalog, experiment, first=first, last=last)
    return replace(imported, experiment=started)


def _store_new_rows(  # noqa: PLR0913 - each is a fact of the import
    cursor: Cursor,
    staged: Iterable[StagedChunk],
    target: ImportTarget,
    selection: RowSelection,
    store: ImportStores,
    *,
    now_us: int,
) -> Iterator[tuple[Imported, int]]:
    """Store the new rows, each chunk in one transaction; yield its numbers, and the progress."""
    columns, into = target.columns, target.into
    until = store.ingest.last_seq_of(into.project_id)
    erased = ErasedKeys(store.settings)
    visit = ["visitor_key", "occurred_at"] if columns.timestamp else ["visitor_key"]
    for table, rows, done in staged:
        selected = selection.select(table, rows)
        with store.ingest.importing:
            new = selected.filter(~_is_erased(selected, erased, target))
            batch = event_batch(events_of(new, target.experiment, columns), received_at=now_us)
            visits = batch.filter(pl.col("type") == "exposure").select(visit)
            returning = count_stored_visitors(cursor, into, visits, until=until)
            store.ingest.write_now(into.project_id, batch)
        chunk = Imported(
            rows=new.height,
            events=batch.height,
            known_rows=rows.height - selected.height,
            known_events=_count_events(rows, columns) - _count_events(selected, columns),
            left_out=selected.height - new.height,
            returning_rows=returning,
        )
        yield chunk, done


def _is_erased(rows: pl.DataFrame, erased: ErasedKeys, target: ImportTarget) -> pl.Series:
    """Tell which rows are of visitors from before they were erased; all of theirs in a file without times."""
    time = pl.col("occurred_at") if target.columns.timestamp else pl.lit(None, pl.Int64)
    keyed = rows.select(time.alias("at"), visitor_key=hash_texts(rows["visitor_id"]))
    return erased.precede(target.into.project_id, keyed, "at")


def _count_events(rows: pl.DataFrame, columns: VisitorColumns) -> int:
    """Count the events of rows: an exposure each, and a conversion for each goal that is not 0."""
    converted = [(pl.col(f"goal:{name}") != 0).sum() for name in columns.goals]
    return rows.height + int(rows.select(pl.sum_horizontal(converted)).item())


def _stage(  # noqa: PLR0913 - each is a fact of the import
    chunks: Iterable[Chunk],
    source: VisitorTables,
    staged: StagedRows,
    *,
    now_us: int,
    currency: str,
    on_progress: OnProgress,
) -> _Summary:
    """Read every row to the disk, and find the variants and the first time."""
    columns = source.columns
    variants: dict[str, None] = {}
    first_us = now_us
    newest: list[int] = []
    usable = 0
    contents: dict[str, list[Sums]] = {table.name: [] for table in source.tables}
    imported = Imported()
    for chunk in chunks:
        read = read_visitors(chunk, columns, now_us=now_us, currency=currency)
        staged.add(StagedChunk(chunk.table, read.rows, chunk.done))
        repeated = count_repeated(chunk.rows, columns.timestamp, columns.time_zone)
        imported = imported.with_rejected(read.bad_rows).with_repeated_times(repeated)
        on_progress("reading", chunk.done)
        if columns.visitor is None:
            contents[chunk.table].append(hash_visitor_rows(read.rows, columns).to_numpy())
        if read.rows.height:
            variants |= dict.fromkeys(read.rows["variant"].unique().sort().to_list())
            first_us = min(first_us, read.rows.select(pl.col("occurred_at").min()).item())
            newest.append(int(read.rows.select(pl.col("occurred_at").max()).item()))
            usable += read.rows.height
        require_few_variants(columns.variant, variants)
    if not variants:
        raise without_usable_rows([table.name for table in source.tables], imported)
    require_few_bad_rows(imported, usable, source.max_bad_share)
    imported = replace(imported, newest_us=max(newest) if columns.timestamp else None)
    sums = {name: np.concatenate(parts) for name, parts in contents.items() if parts}
    return _Summary(variants=tuple(variants), first_us=first_us, contents=sums, imported=imported)


def require_few_variants(column: str, variants: Iterable[str]) -> None:
    """Raise UnreadableSourceError where there are more variants than an experiment can have."""
    if len(set(variants)) > MOST_VARIANTS:
        raise UnreadableSourceError(
            f"'{column}' has more than {MOST_VARIANTS} different values; "
            "name the column that says which variant a visitor saw"
        )


def without_usable_rows(names: Iterable[str], imported: Imported) -> UnreadableSourceError:
    """Build the error of tables of which every row was rejected, with the first reason."""
    bad = imported.bad_rows
    why = f"; line {bad[0].line} {bad[0].reason}" if bad else ""
    return UnreadableSourceError(f"{', '.join(names)} has no usable row{why}")
