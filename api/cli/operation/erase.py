"""Command `erase`: a person's data, by the service where it owns the store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import quote

import typer

from api.cli.console import CommandError, out, print_json
from api.cli.options import AsJson, DataDir
from api.cli.stores import opened_catalog, opened_store, require_store

if TYPE_CHECKING:
    from api.cli.client.running_service import RunningService
    from engine.design.project import Project
    from pipeline.erasure.person_erasure import IdType
    from pipeline.store.catalog.catalog import Catalog

_ACTOR: Final = "cli"


def erase(
    data_dir: DataDir = Path("data/store"),
    visitor: Annotated[str | None, typer.Option("--visitor", help="A visitor id of the person.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="A user id of the person.")] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="Project id; needed where there are several.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before erasing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase a person with all of its ids: events, results, assignments, snapshots. It cannot be undone."""
    from api.cli.client.running_service import find_service

    if (visitor is None) == (user is None):
        raise typer.BadParameter("give one of --visitor and --user")
    require_store(data_dir)
    person_id, id_type = (visitor, "visitor") if user is None else (user, "user")
    try:
        str(person_id).encode()
    except UnicodeEncodeError:
        raise typer.BadParameter(f"the {id_type} id is not valid UTF-8: {person_id!a}") from None
    if not yes:
        typer.confirm(f"Erase the person with the {id_type} id {person_id}? It cannot be undone", abort=True)
    service = find_service(data_dir)
    if service is None:
        receipt = _erased_here(data_dir, project, str(person_id), "user" if user else "visitor")
    else:
        receipt = _erased_there(service, data_dir, project, str(person_id), id_type)
    if as_json:
        print_json(receipt)
    else:
        _print(receipt)


def _erased_here(data_dir: Path, project_id: str | None, person_id: str, id_type: "IdType") -> dict[str, Any]:
    from pipeline.erasure import person_erasure

    with opened_store(data_dir) as store:
        found = _project(store.catalog, project_id)
        return dict(person_erasure.erase(store, found, person_id, id_type=id_type, actor=_ACTOR).to_json())


def _erased_there(
    service: "RunningService", data_dir: Path, project_id: str | None, person_id: str, id_type: str
) -> dict[str, Any]:
    """Let the service erase the person, however long it takes."""
    from dataclasses import replace

    with opened_catalog(data_dir) as catalog:
        found = _project(catalog, project_id)
        client = replace(service.client(catalog, found.account_id), timeout_seconds=None)
    path = f"/api/v1/projects/{found.id}/visitors/{quote(person_id, safe='')}"
    receipt: dict[str, Any] = client.delete(path, {"id_type": id_type})["data"]
    return receipt


def _project(catalog: "Catalog", project_id: str | None) -> "Project":
    if project_id is not None:
        return catalog.projects.find(project_id)
    projects = catalog.projects.all()
    if len(projects) == 1:
        return projects[0]
    listed = ", ".join(f"{one.id} ({one.name})" for one in projects) or "none"
    raise CommandError(f"name the project with --project; this store has: {listed}")


def _print(receipt: dict[str, Any]) -> None:
    kept = len(receipt["sums_kept"])
    out.print(
        f"Erased {receipt['events']:,} events of {receipt['visitor_ids']} visitor ids and "
        f"{receipt['user_ids']} user ids (receipt {receipt['id']}); {len(receipt['recounted'])} experiments "
        f"were counted again, {kept} completed ones keep their numbers.",
        highlight=False,
        soft_wrap=True,
    )
    read = receipt["read_back"]
    left = [f"{one['place']} ({one['left']})" for one in read if one["left"]]
    told = f"left in {', '.join(left)}: erase once more, and remove copies" if left else "found in none"
    out.print(f"Read back {len(read)} places: {told}.", highlight=False, soft_wrap=True)
    if receipt["not_reached"]:
        places = ", ".join(receipt["not_reached"])
        out.print(f"Not reached: {places}; a tombstone there says what to delete.", highlight=False)
    out.print(
        "Backups, files of your own and sources that are imported again are not changed.",
        highlight=False,
        soft_wrap=True,
    )
