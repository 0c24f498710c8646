"""Import of files of visitors into the store."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from engine.design.project import Project
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.clock import utc_now
from pipeline.imports.anonymous_rows import Sums
from pipeline.imports.event_rows import event_batch
from pipeline.imports.import_result import Imported, ImportStores
from pipeline.imports.imported_experiment import (
    draft_for_files,
    find_experiment,
    require_control,
    require_same_columns,
    start_with_first_visitor,
)
from pipeline.imports.new_rows import (
    AnonymousRows,
    ImportTarget,
    NamedRows,
    RowSelection,
    hash_visitor_rows,
)
from pipeline.imports.tables import (
    FileState,
    UnreadableFileError,
    columns_of,
    read_files,
    state_of,
)
from pipeline.imports.visitor_rows import (
    ReadRows,
    VisitorColumns,
    VisitorFiles,
    events_of,
    read_visitors,
)
from pipeline.ingest.ingest import Ingest
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.imports.stored_rows import (
    ImportedInto,
    count_row_kinds,
    count_stored_visitors,
)

MOST_VARIANTS = 20

OnProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FilesSummary:
    """Summary of the first pass over the files; `contents` are the hashes of rows without visitor ids."""

    variants: tuple[str, ...]
    first_us: int
    contents: dict[Path, Sums]
    imported: Imported


@dataclass(frozen=True, slots=True, kw_only=True)
class _VisitorReader:
    """Reader of the rows of files of visitors; rows without a time have that of the import."""

    files: VisitorFiles
    currency: str
    now_us: int
    states: tuple[FileState, ...]

    @classmethod
    def of(cls, files: VisitorFiles, project: Project, *, now_us: int) -> Self:
        """Read the files as they are now, with amounts in the project's currency."""
        states = tuple(map(state_of, files.paths))
        return cls(files=files, currency=project.revenue_currency, now_us=now_us, states=states)

    def __iter__(self) -> Iterator[tuple[Path, ReadRows, int]]:
        """Yield the rows of each chunk with its file and the progress; UnreadableFileError."""
        if tuple(map(state_of, self.files.paths)) != self.states:
            raise UnreadableFileError("a file changed while it was read; import it again once it is complete")
        for chunk in read_files(self.files.paths):
            read = read_visitors(chunk, self.files.columns, now_us=self.now_us, currency=self.currency)
            yield chunk.path, read, chunk.bytes_read


def import_visitors(
    files: VisitorFiles,
    project: Project,
    *,
    store: ImportStores,
    on_progress: OnProgress = lambda _: None,
) -> Imported:
    """Create the files' experiment, or find it from an earlier import, and import every usable new row.

    The files are read twice, so that nothing is stored of an unusable one. Rows are read, compared with the
    stored ones and committed in chunks of 50,000, so that memory does not grow with the file, except by 8
    bytes for each row without a visitor id.

    Raises:
        UnreadableFileError: a column is missing, no row has the control, or no row is usable.
        ImportRefusedError: the experiment is over, or its stored rows could not be told from the files' rows.
    """
    _require_columns(files)
    now = utc_now()
    reader = _VisitorReader.of(files, project, now_us=epoch_microseconds(now))
    summary = _summarize(reader)
    experiment = find_experiment(store.catalog, project, files, summary.variants)
    if experiment is None:
        experiment = draft_for_files(store.catalog, project, files, summary.variants, now=now)
    require_control(experiment, files.control)
    store.ingest.load()
    with store.warehouse.cursor() as cursor:
        kinds = count_row_kinds(cursor, ImportedInto(project.id, experiment.id))
        require_same_columns(experiment, kinds, files.columns)
        target = ImportTarget(
            experiment=experiment, columns=files.columns, currency=reader.currency, kinds=kinds
        )
        imported = replace(summary.imported, has_earlier_rows=kinds.rows > 0)
        for chunk, bytes_read in _store_new_rows(cursor, reader, target, summary, store.ingest):
            imported = imported.plus(chunk)
            on_progress(bytes_read)
    started = start_with_first_visitor(store.catalog, experiment, from_epoch_microseconds(summary.first_us))
    return replace(imported, experiment=started)


def _store_new_rows(
    cursor: Cursor, reader: _VisitorReader, target: ImportTarget, summary: _FilesSummary, ingest: Ingest
) -> Iterator[tuple[Imported, int]]:
    """Store the new rows, each chunk in one transaction; yield its numbers, and the progress."""
    columns, into = target.columns, target.into
    selection: RowSelection = (
        NamedRows(cursor, target)
        if columns.visitor
        else AnonymousRows(cursor, target, summary.contents, now_us=reader.now_us)
    )
    until = ingest.last_seq_of(into.project_id)
    visit = ["visitor_key", "occurred_at"] if columns.timestamp else ["visitor_key"]
    for path, read, bytes_read in reader:
        new = selection.select(path, read.rows)
        batch = event_batch(events_of(new, target.experiment, columns), received_at=reader.now_us)
        visits = batch.filter(pl.col("type") == "exposure").select(visit)
        chunk = Imported(
            rows=new.height,
            events=batch.height,
            known_rows=read.rows.height - new.height,
            known_events=_count_events(read.rows, columns) - batch.height,
            returning_rows=count_stored_visitors(cursor, into, visits, until=until),
        )
        ingest.write_now(into.project_id, batch)
        yield chunk, bytes_read


def _count_events(rows: pl.DataFrame, columns: VisitorColumns) -> int:
    """Count the events of rows: an exposure each, and a conversion for each goal that is not 0."""
    converted = [(pl.col(f"goal:{name}") != 0).sum() for name in columns.goals]
    return rows.height + int(rows.select(pl.sum_horizontal(converted)).item())


def _require_columns(files: VisitorFiles) -> None:
    for path in files.paths:
        columns = columns_of(path)
        missing = [name for name in files.columns.named if name not in columns]
        if missing:
            raise UnreadableFileError(
                f"{path.name} has no column {', '.join(map(repr, missing))}; it has {', '.join(columns)}"
            )


def _summarize(reader: _VisitorReader) -> _FilesSummary:
    columns = reader.files.columns
    variants: dict[str, None] = {}
    first_us = reader.now_us
    contents: dict[Path, list[Sums]] = {path: [] for path in reader.files.paths}
    imported = Imported()
    for path, read, _ in reader:
        imported = imported.with_rejected(read.bad_rows)
        if columns.visitor is None:
            contents[path].append(hash_visitor_rows(read.rows, columns).to_numpy())
        if read.rows.height:
            variants |= dict.fromkeys(read.rows["variant"].unique().sort().to_list())
            first_us = min(first_us, read.rows.select(pl.col("occurred_at").min()).item())
        if len(variants) > MOST_VARIANTS:
            raise UnreadableFileError(
                f"'{columns.variant}' has more than {MOST_VARIANTS} different values; "
                "name the column that says which variant a visitor saw"
            )
    if not variants:
        names = ", ".join(path.name for path in reader.files.paths)
        bad = imported.bad_rows
        why = f"; line {bad[0].line} {bad[0].reason}" if bad else ""
        raise UnreadableFileError(f"{names} has no usable row{why}")
    sums = {path: np.concatenate(parts) for path, parts in contents.items() if parts}
    return _FilesSummary(variants=tuple(variants), first_us=first_us, contents=sums, imported=imported)
