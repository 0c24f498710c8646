"""Command `rollup --engine`: a count of Parquet files by several processes, or by a Spark cluster."""

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from api.cli.console import CommandError, out
from api.cli.operation.handed_in_sums import load
from api.cli.stores import opened_catalog, require_store, settings_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from engine.design.experiment import Experiment
    from engine.design.project import Project
    from pipeline.distributed.engine import Engine
    from pipeline.distributed.event_files import EventTable


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRollup:
    """Options of a rollup of files by an `engine`; None where the option is not given."""

    engine: Literal["local", "spark"] | None
    master: str | None

    input: Path | None
    sources: tuple[Path, ...]
    output: Path | None
    workers: int | None
    parts: int | None
    replace: bool
    publish: bool
    url: str | None
    take_over: bool

    @property
    def is_empty(self) -> bool:
        """True where no option is given."""
        given = {
            self.input,
            self.sources or None,
            self.output,
            self.master,
            self.workers,
            self.parts,
            self.url,
        }
        return not (self.replace or self.publish or self.take_over) and given == {None}


def roll_up_files(data_dir: Path, project_id: str | None, options: FileRollup) -> None:
    """Count the events in files by processes or by a Spark cluster, into files; CommandError."""
    from pipeline.distributed.distributed_rollup import Extent, choose_parts, roll_up
    from pipeline.distributed.output import new_output

    if project_id is None or options.output is None or (options.input is None) == (not options.sources):
        raise CommandError("--engine needs --project, --output, and --input or --source")
    if (options.engine == "spark") != (options.master is not None):
        raise CommandError("--engine spark needs --master, which is of no other engine")
    if options.engine == "spark" and options.workers is not None:
        raise CommandError("--workers are for --engine local: the cluster has its executors")
    if not options.publish and (options.url is not None or options.take_over):
        raise CommandError("--url and --take-over are for --publish")
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        project = catalog.projects.find(project_id)
        experiments = catalog.experiments.of_project(project_id)
    files, rows, until = _found(options, project, experiments)
    with (
        new_output(options.output, replace=options.replace) as draft,
        _opened_engine(options, files, draft.parent) as (engine, cores),
    ):
        extent = Extent(
            parts=options.parts or choose_parts(rows, cores=cores),
            at_once=settings_for(data_dir).rollup_bucket_events,
            now=until,
        )
        manifest = roll_up(engine, project, experiments, extent, draft)
    out.print(
        f"{manifest.events:,} events counted to {manifest.visitors:,} visitor rows in {options.output}",
        highlight=False,
        soft_wrap=True,
    )
    if options.publish:
        load(options.output, data_dir, options.url, take_over=options.take_over)


def _found(
    options: FileRollup, project: "Project", experiments: "Sequence[Experiment]"
) -> "tuple[Sequence[Path | EventTable], int, datetime]":
    """Find the files, the number of their rows, and the time up to which they have every event."""
    from engine.local_days import epoch_microseconds
    from pipeline.clock import utc_now
    from pipeline.distributed.event_files import count_events, counted_until, find_files

    now = utc_now()
    if options.input is not None:
        files = find_files(options.input, project.id)
        return files, count_events(files), counted_until(options.input, files) or now
    from pipeline.distributed.described_events import find_described

    found = find_described(options.sources, project, experiments, now_us=epoch_microseconds(now))
    return found, sum(one.rows for one in found), now


@contextmanager
def _opened_engine(
    options: FileRollup, files: "Sequence[Path | EventTable]", beside: Path
) -> "Iterator[tuple[Engine, int]]":
    """Open the engine, and tell how many parts it works on at once."""
    if options.master is not None:
        from pipeline.distributed.spark_cluster import SparkCluster

        with SparkCluster.open(files, master=options.master) as cluster:
            yield cluster, cluster.cores
        return
    from pipeline.distributed.process_pool import ProcessPool

    workers = options.workers or os.cpu_count() or 1
    with (
        # On the disk of the output, as the folder of the system may be in memory.
        tempfile.TemporaryDirectory(prefix=".rollup-", dir=beside) as folder,
        ProcessPool.open(files, Path(folder), workers=workers) as pool,
    ):
        yield pool, workers
