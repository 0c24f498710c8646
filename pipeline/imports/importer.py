"""Import of a file of visitors or of events into the store."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from engine.design import lifecycle
from engine.design.experiment import Experiment
from engine.design.project import Project
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.clock import utc_now, utc_now_us
from pipeline.events.decode import ProjectIds, RequestContext
from pipeline.imports.event_rows import event_batch, read_event_rows
from pipeline.imports.tables import (
    BadRow,
    UnreadableFileError,
    columns_of,
    read_chunks,
)
from pipeline.imports.visitor_rows import (
    ReadRows,
    VisitorColumns,
    events_of,
    read_visitors,
)
from pipeline.ingest import Ingest
from pipeline.requests.experiments import create_draft
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse.events import EventRow

MOST_VARIANTS = 20
ACTOR = "import"

OnProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitorFile:
    """A file of one row per visitor, with its columns, the experiment's name and the control variant."""

    path: Path
    columns: VisitorColumns
    name: str
    control: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of an import: the experiment (None for a file of events), rows imported and rows rejected."""

    experiment: Experiment | None
    rows: int
    events: int
    bad_rows: tuple[BadRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileSummary:
    """Summary of the first pass over a file."""

    variants: tuple[str, ...]
    first_us: int
    bad_rows: tuple[BadRow, ...]


def import_visitors(
    file: VisitorFile, project: Project, *, catalog: Catalog, ingest: Ingest, on_progress: OnProgress
) -> Imported:
    """Create the file's experiment, or find it from an earlier import, and import every usable row.

    The file is read twice, so that nothing is stored of an unusable file.

    Raises:
        UnreadableFileError: a column is missing, no row has the control, or no row is usable.
    """
    _require_columns(file)
    now = utc_now()
    now_us = epoch_microseconds(now)
    summary = _summarize(file, now_us=now_us)
    experiment = _find_or_draft(file, summary.variants, project, catalog, now=now)
    rows = events = 0
    for read, bytes_read in _read_all(file, now_us=now_us):
        if read.rows.height:
            batch = event_batch(events_of(read.rows, experiment, file.columns), received_at=now_us)
            ingest.write_now(project.id, batch)
            rows, events = rows + read.rows.height, events + batch.height
        on_progress(bytes_read)
    if experiment.status == "draft":
        start = partial(_start_then, from_epoch_microseconds(summary.first_us))
        experiment = catalog.experiments.change(project.id, experiment.id, start, actor=ACTOR)
    return Imported(experiment=experiment, rows=rows, events=events, bad_rows=summary.bad_rows)


def import_events(
    path: Path, project: Project, *, catalog: Catalog, ingest: Ingest, on_progress: OnProgress
) -> Imported:
    """Import a file of one row per event, of any age; rejected rows are in the result.

    Raises:
        UnreadableFileError: the file cannot be read.
    """
    context = RequestContext(
        received_us=utc_now_us(),
        project_ids=ProjectIds.of(catalog.experiments.of_project(project.id)),
        sender="import",
        max_age_us=None,
    )
    stored = 0
    bad_rows: list[BadRow] = []
    for chunk in read_chunks(path):
        rows, rejected = read_event_rows(chunk, context)
        frame = pl.DataFrame(rows, schema=list(EventRow._fields), orient="row", infer_schema_length=None)
        if rows:
            ingest.write_now(project.id, event_batch(frame, received_at=context.received_us))
        stored += len(rows)
        bad_rows.extend(rejected)
        on_progress(chunk.bytes_read)
    return Imported(experiment=None, rows=stored, events=stored, bad_rows=tuple(bad_rows))


def _read_all(file: VisitorFile, *, now_us: int) -> Iterator[tuple[ReadRows, int]]:
    for chunk in read_chunks(file.path):
        yield read_visitors(chunk, file.columns, now_us=now_us), chunk.bytes_read


def _require_columns(file: VisitorFile) -> None:
    columns = columns_of(file.path)
    missing = [name for name in file.columns.named if name not in columns]
    if missing:
        raise UnreadableFileError(
            f"{file.path.name} has no column {', '.join(map(repr, missing))}; it has {', '.join(columns)}"
        )


def _summarize(file: VisitorFile, *, now_us: int) -> _FileSummary:
    variants: dict[str, None] = {}
    first_us = now_us
    bad_rows: list[BadRow] = []
    for read, _ in _read_all(file, now_us=now_us):
        bad_rows.extend(read.bad_rows)
        if read.rows.height:
            variants |= dict.fromkeys(read.rows["variant"].unique().sort().to_list())
            first_us = min(first_us, read.rows.select(pl.col("occurred_at").min()).item())
        if len(variants) > MOST_VARIANTS:
            raise UnreadableFileError(
                f"'{file.columns.variant}' has more than {MOST_VARIANTS} different values; "
                "name the column that says which variant a visitor saw"
            )
    return _FileSummary(
        variants=_control_first(file, variants, bad_rows), first_us=first_us, bad_rows=tuple(bad_rows)
    )


def _control_first(file: VisitorFile, variants: Iterable[str], bad_rows: Sequence[BadRow]) -> tuple[str, ...]:
    names = list(variants)
    if not names:
        why = f"; line {bad_rows[0].line} {bad_rows[0].reason}" if bad_rows else ""
        raise UnreadableFileError(f"{file.path.name} has no usable row{why}")
    if file.control not in names:
        raise UnreadableFileError(
            f"no row of '{file.columns.variant}' is the control {file.control!r}; it has {', '.join(names)}"
        )
    return (file.control, *(name for name in names if name != file.control))


def _find_or_draft(
    file: VisitorFile, variants: tuple[str, ...], project: Project, catalog: Catalog, *, now: datetime
) -> Experiment:
    """Find the experiment of an earlier import by name, variants and goals; draft it where there is none."""
    wanted = (file.name, set(variants), set(file.columns.goals))
    for one in catalog.experiments.of_project(project.id):
        if wanted == (one.name, {arm.name for arm in one.variants}, {goal.name for goal in one.goals}):
            return one
    fields = {
        "name": file.name,
        "variants": [{"name": name, "is_control": name == file.control} for name in variants],
        "goals": [_goal_fields(column, kind) for column, kind in file.columns.goals.items()],
    }
    return create_draft(catalog, project, fields, now=now, actor=ACTOR)


def _goal_fields(column: str, kind: str) -> dict[str, Any]:
    return {"name": column, "goal_type": kind, "config": {"event_name": column}}


def _start_then(started: datetime, experiment: Experiment) -> Experiment:
    # The file is the past: the experiment began with its first visitor.
    return lifecycle.start(replace(experiment, created_at=started, updated_at=started), now=started)
