"""Command `load`: sums of what `rollup --engine` counted, handed in to a service while it runs."""

import os
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from api.cli.console import CommandError, out
from api.cli.options import DataDir
from api.cli.stores import opened_catalog, opened_store, require_catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from api.cli.client.running_service import ServiceClient
    from engine.design.experiment import Experiment
    from engine.design.project import Project
    from pipeline.results.outside.outside_sums import OutsideSums
    from pipeline.services import PipelineServices

KEY: Final = "TRUELIFT_API_KEY"
Url = Annotated[
    str | None,
    typer.Option("--url", help=f"Service elsewhere, such as https://ab.example.com; its key is in {KEY}."),
]
TakeOver = Annotated[
    bool,
    typer.Option("--take-over", help="Take the place of what the service counts from its own events."),
]
# Hands in the sums of an experiment, or says why they are refused.
_Door: TypeAlias = "Callable[[Experiment, OutsideSums], str | None]"
# The status of sums that a service does not take.
REFUSED: Final = 422


def load(
    folder: Annotated[Path, typer.Argument(help="Output of `truelift rollup --engine`.")],
    data_dir: DataDir = Path("data/store"),
    url: Url = None,
    take_over: TakeOver = False,
) -> None:
    """Hand in the sums that `truelift rollup --engine` counted, beside the running service."""
    from pipeline.distributed.output import read_output_manifest
    from pipeline.distributed.output_sums import changed_since, sums_of_output

    manifest = read_output_manifest(folder)
    require_catalog(data_dir)
    with opened_catalog(data_dir) as catalog:
        project = catalog.projects.find(manifest.project_id)
        experiments = {one.id: one for one in catalog.experiments.of_project(project.id)}
    published, left = 0, changed_since(manifest, experiments)
    with _door(data_dir, project, url, take_over=take_over) as hand_in:
        for experiment, sums in sums_of_output(folder, manifest, experiments):
            reason = hand_in(experiment, sums)
            if reason is None:
                published += 1
            else:
                left[experiment.id] = reason
    for experiment_id, reason in left.items():
        out.print(f"{experiment_id}: left as it was, {reason}", highlight=False, soft_wrap=True)
    out.print(f"{published:,} experiments published", highlight=False)


@contextmanager
def _door(data_dir: Path, project: "Project", url: str | None, *, take_over: bool) -> "Iterator[_Door]":
    """Open the way into the service at `url`, into that of the folder, or into the folder without one."""
    from api.cli.client.running_service import RemoteService, ServiceClient, find_service

    service = None if url is not None else find_service(data_dir)
    if url is not None:
        token = os.environ.get(KEY)
        if not token:
            raise CommandError(f"--url needs an API key with the scope projects:write in {KEY}")
        yield partial(_send, ServiceClient(RemoteService(url), token), take_over=take_over)
    elif service is not None:
        with opened_catalog(data_dir) as catalog:
            client = service.client(catalog, project.account_id)
        yield partial(_send, client, take_over=take_over)
    else:
        with opened_store(data_dir) as store:
            yield partial(_publish, store, project, take_over=take_over)


def _publish(
    store: "PipelineServices",
    project: "Project",
    experiment: "Experiment",
    sums: "OutsideSums",
    *,
    take_over: bool,
) -> str | None:
    """Publish in a store of this process."""
    from engine.errors import InvalidDesignError, TransitionError
    from pipeline.results.outside.publish_sums import publish_sums

    now = store.clock()
    try:
        publish_sums(store, project, experiment.id, sums, actor="command_line", now=now, takes_over=take_over)
    except (InvalidDesignError, TransitionError) as error:
        return str(error)
    return None


def _send(
    client: "ServiceClient", experiment: "Experiment", sums: "OutsideSums", *, take_over: bool
) -> str | None:
    """Send the sums to a service."""
    from api.cli.client.running_service import ServiceRefusedError

    file, last = BytesIO(), sums.last_exposed_at
    sums.table().write_parquet(file)
    query = {
        "source": sums.source,
        "fingerprint": sums.fingerprint,
        "watermark": sums.watermark.isoformat(),
        **({} if last is None else {"last_exposed_at": last.isoformat()}),
        **({"take_over": "true"} if take_over else {}),
    }
    path = f"/api/v1/projects/{experiment.project_id}/experiments/{experiment.id}/sums"
    try:
        client.send_file(path, query, file.getvalue(), "application/vnd.apache.parquet")
    except ServiceRefusedError as error:
        if error.status != REFUSED:
            raise
        return str(error)
    return None
