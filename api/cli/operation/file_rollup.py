"""Commands of the distributed rollup: `rollup --engine` counts Parquet files, `load` publishes the result."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from api.cli.console import CommandError, out
from api.cli.options import DataDir
from api.cli.stores import opened_catalog, opened_store, require_store, settings_for


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRollup:
    """Options of a rollup of files; None where the option is not given."""

    input: Path | None
    output: Path | None
    workers: int | None
    parts: int | None
    replace: bool

    @property
    def is_empty(self) -> bool:
        """True where no option is given."""
        return not self.replace and (self.input, self.output, self.workers, self.parts) == (None,) * 4


def roll_up_files(data_dir: Path, project_id: str | None, options: FileRollup) -> None:
    """Count the events in files by a pool of processes, into files; CommandError."""
    from pipeline.clock import utc_now
    from pipeline.distributed.distributed_rollup import Extent, roll_up
    from pipeline.distributed.event_files import find_files
    from pipeline.distributed.output import new_output
    from pipeline.distributed.process_pool import ProcessPool

    if project_id is None or options.input is None or options.output is None:
        raise CommandError("--engine needs --project, --input and --output")
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        project = catalog.projects.find(project_id)
        experiments = catalog.experiments.of_project(project_id)
    workers = options.workers or os.cpu_count() or 1
    extent = Extent(
        parts=options.parts or 4 * workers,
        at_once=settings_for(data_dir).rollup_bucket_events,
        now=utc_now(),
    )
    files = find_files(options.input, project_id)
    with (
        new_output(options.output, replace=options.replace) as draft,
        # On the disk of the output, as the folder of the system may be in memory.
        tempfile.TemporaryDirectory(prefix=".rollup-", dir=draft.parent) as folder,
        ProcessPool.open(files, Path(folder), workers=workers) as pool,
    ):
        manifest = roll_up(pool, project, experiments, extent, draft)
    out.print(
        f"{manifest.events:,} events counted to {manifest.visitors:,} visitor rows in {options.output}",
        highlight=False,
        soft_wrap=True,
    )


def load(
    folder: Annotated[Path, typer.Argument(help="Output of `truelift rollup --engine`.")],
    data_dir: DataDir = Path("data/store"),
) -> None:
    """Publish the results that `truelift rollup --engine` counted, where the same events are stored."""
    from pipeline.distributed.publish import publish

    require_store(data_dir)
    with opened_store(data_dir) as store:
        publication = publish(store, folder)
    for experiment_id, reason in publication.left.items():
        out.print(f"{experiment_id}: left as it was, {reason}", highlight=False, soft_wrap=True)
    out.print(f"{len(publication.published):,} experiments published", highlight=False)
