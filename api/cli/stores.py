"""The store of a command: its catalog while the service runs, all of it while the service does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.console import CommandError

if TYPE_CHECKING:
    from engine.design.project import Project
    from pipeline.services import PipelineServices
    from pipeline.settings import Settings
    from pipeline.store.catalog.catalog import Catalog


def settings_for(data_dir: Path, **given: int) -> "Settings":
    """Read the settings of this environment, but for the `given` ones; SettingsError."""
    from pipeline.settings import read_settings

    return read_settings(data_dir=data_dir, **given)


@contextmanager
def opened_catalog(data_dir: Path) -> Iterator["Catalog"]:
    """Open the catalog in `data_dir`, created where there is none, until the end."""
    from pipeline.store.catalog.catalog import Catalog

    catalog = Catalog.open(settings_for(data_dir))
    try:
        yield catalog
    finally:
        catalog.close()


@contextmanager
def opened_store(data_dir: Path) -> Iterator["PipelineServices"]:
    """Open the whole store in `data_dir`, owned by this process until the end.

    Raises:
        WarehouseBusyError: a running service owns the warehouse.
    """
    from pipeline.services import open_pipeline

    with open_pipeline(settings_for(data_dir)) as store:
        yield store


def target_project(store: "PipelineServices", project_id: str | None, *, name_of_new: str) -> "Project":
    """Return the project of that id, the only project, or a new one in the only account; CommandError."""
    if project_id is not None:
        return store.catalog.projects.find(project_id)
    projects = store.catalog.projects.all()
    if len(projects) > 1:
        listed = ", ".join(f"{project.id} ({project.name})" for project in projects)
        raise CommandError(f"this store has several projects; name one with --project: {listed}")
    return projects[0] if projects else _first_project(store, name_of_new)


def _first_project(store: "PipelineServices", name: str) -> "Project":
    accounts = store.catalog.accounts.all()
    if len(accounts) != 1:
        reason = (
            "no account yet; run `truelift init` first" if not accounts else "several accounts and no project"
        )
        raise CommandError(
            f"this store has {reason}, or create a project over the API and name it with --project"
        )
    return new_project(store, accounts[0].id, {"name": name, "url": "https://example.com"})


def new_project(store: "PipelineServices", account_id: str, fields: dict[str, object]) -> "Project":
    """Create a project of an account, with the defaults of the API."""
    from engine.design.project import draft_project
    from pipeline.clock import utc_now
    from pipeline.store.catalog.ids import new_id, new_sdk_key

    project = draft_project(
        fields, id=new_id("prj"), account_id=account_id, sdk_key=new_sdk_key(), now=utc_now()
    )
    return store.catalog.projects.create(project, actor="cli")
