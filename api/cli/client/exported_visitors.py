"""Command `export`: the counted visitors of an experiment as a file, by the service while it runs."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final, Literal

import typer

from api.cli.console import CommandError, out, print_json
from api.cli.options import AsJson, DataDir
from api.cli.stores import opened_catalog, opened_store, require_store

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService

Format = Literal["parquet", "csv", "ndjson"]
FORMATS: Final[dict[str, Format]] = {".parquet": "parquet", ".csv": "csv", ".ndjson": "ndjson"}


def export(
    experiment: Annotated[str, typer.Argument(help="Id of the experiment.")],
    to: Annotated[Path, typer.Option("--out", help="File to write; one that exists is replaced.")],
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Format of the file.", show_default="by the ending of --out"),
    ] = None,
    data_dir: DataDir = Path("data/store"),
    as_json: AsJson = False,
) -> None:
    """Write a row for every counted visitor: variant, first exposure, segments, outcome of each goal."""
    from api.cli.client.running_service import find_service

    form = format_ or FORMATS.get(to.suffix.lower())
    if form is None:
        raise typer.BadParameter(f"{to} ends with none of {', '.join(FORMATS)}: name the --format")
    require_store(data_dir)
    # Complete, or not there at all.
    draft = to.with_name(f"{to.name}.part")
    try:
        with draft.open("wb") as file:
            service = find_service(data_dir)
            if service is None:
                _write_here(data_dir, experiment, form, file)
            else:
                _write_there(service, data_dir, experiment, form, file)
        draft.replace(to)
    except OSError as failure:
        raise CommandError(f"{to} cannot be written: {failure.strerror or failure}") from None
    finally:
        draft.unlink(missing_ok=True)
    size = to.stat().st_size
    if as_json:
        print_json({"experiment_id": experiment, "file": str(to), "format": form, "bytes": size})
    else:
        out.print(f"Wrote {to}, {size:,} bytes", soft_wrap=True, highlight=False)


def _write_here(data_dir: Path, experiment_id: str, form: Format, file: BinaryIO) -> None:
    from pipeline.clock import utc_now
    from pipeline.results.exports import Exports
    from pipeline.results.filters import SegmentFilters
    from pipeline.results.reports_by_id import find_experiment
    from pipeline.store.catalog.members import COMMAND_LINE

    with opened_store(data_dir) as store:
        project, experiment = find_experiment(store.catalog, experiment_id)
        exports = Exports(store.warehouse, store.results, store.settings)
        with exports.visitors(experiment, project, SegmentFilters(), form, now=utc_now()) as visitors:
            store.catalog.audit.add(
                project.account_id, COMMAND_LINE, experiment.id, {"exported": [None, form]}
            )
            shutil.copyfileobj(visitors, file)


def _write_there(
    service: "RunningService", data_dir: Path, experiment_id: str, form: Format, file: BinaryIO
) -> None:
    from pipeline.results.reports_by_id import find_experiment

    with opened_catalog(data_dir) as catalog:
        project, experiment = find_experiment(catalog, experiment_id)
        client = service.client(catalog, project.account_id)
    path = f"/api/v1/projects/{project.id}/experiments/{experiment.id}/results/export"
    client.download(path, {"format": form}, file)
