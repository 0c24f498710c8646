"""Imports that the service which owns the store carries out for a command."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from api.cli.client.run_waiting import wait_for_run
from api.cli.client.running_service import ServiceRefusedError
from api.cli.console import CommandError, err, progress
from api.cli.runs import STOPPED_WAITING
from api.cli.stores import opened_catalog
from pipeline.store.catalog.ids import new_id

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService, ServiceClient
    from engine.design.project import Project
    from pipeline.runs.command_imports import CommandImport, CommandOutcome

# From this HTTP status on, a refused request may have been carried out all the same.
_MAY_BE_QUEUED: Final = 500


def import_there(
    service: "RunningService", target: "Project", left: "CommandImport", description: str
) -> "tuple[CommandOutcome, CommandError | None]":
    """Leave an import to the service, and wait for its end; return what was imported, and its failure.

    Sources that failed are in the outcome.
    """
    from pipeline.runs.command_imports import (
        leave_import,
        read_outcome,
        remove_import_left,
        remove_outcome,
    )

    with opened_catalog(service.settings.data_dir) as catalog:
        client = service.client(catalog, target.account_id)
    file = new_id("import")
    leave_import(service.settings, file, left)
    path = f"/api/v1/projects/{target.id}/imports?trigger=command_line&run_key={file}"
    try:
        queued = client.post(path, {"command_file": file})["data"]
    except ServiceRefusedError as error:
        # Only then is it certain that no run is queued which will read the file.
        if error.status < _MAY_BE_QUEUED:
            remove_import_left(service.settings, file)
        raise
    run = _wait(client, service.settings.data_dir, queued, description)
    outcome = read_outcome(service.settings, file)
    remove_outcome(service.settings, file)
    return outcome, None if run["status"] == "done" or outcome.failed else CommandError(run["error"])


def absolute(location: str) -> str:
    """Name a location so that it is found from any folder, with the values of its variables."""
    from pipeline.sources.locations import is_url, with_variables

    found = with_variables(location)
    return found if is_url(found) else str(Path(found).absolute())


def _wait(client: "ServiceClient", data_dir: Path, run: dict[str, Any], description: str) -> dict[str, Any]:
    try:
        with progress() as bar:
            task = bar.add_task(description, total=None)

            def show(asked: dict[str, Any]) -> None:
                if asked["progress"].get("stage") == "storing":
                    bar.update(
                        task, completed=asked["progress"]["done"], total=asked["progress"]["total"] or None
                    )

            return wait_for_run(client, run["project_id"], run["id"], show)
    except KeyboardInterrupt:
        err.print(f"The service goes on with {run['id']}; see `truelift runs --data-dir {data_dir}`.")
        raise typer.Exit(STOPPED_WAITING) from None
