"""The store of a command: its catalog while the service runs, all of it while the service does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from api.cli.console import CommandError

if TYPE_CHECKING:
    from engine.design.project import Project
    from pipeline.services import PipelineServices
    from pipeline.settings import Settings
    from pipeline.store.catalog.catalog import Catalog

# Of a project that a command creates: changed in its settings.
URL_OF_NEW: Final = "https://example.com"


def settings_for(data_dir: Path, **given: int) -> "Settings":
    """Read the settings of this environment, but for the `given` ones; SettingsError."""
    from pipeline.settings import read_settings

    return read_settings(data_dir=data_dir, **given)


def require_store(data_dir: Path) -> None:
    """Refuse a folder that does not exist or holds no store, for commands that create none; CommandError."""
    if not data_dir.is_dir() or not _has_store(data_dir):
        raise CommandError(
            f"there is no store in {data_dir}; name its folder with --data-dir, or run `truelift init`"
        )


def require_catalog(data_dir: Path) -> None:
    """Refuse as `require_store`; a catalog on a server may be served from a machine with a new folder."""
    from pipeline.store.catalog.backends import sqlite_path

    if sqlite_path(settings_for(data_dir).effective_catalog_url) is not None:
        require_store(data_dir)


def _has_store(data_dir: Path) -> bool:
    from pipeline.store.catalog.backends import sqlite_path

    settings = settings_for(data_dir)
    catalog = sqlite_path(settings.effective_catalog_url)
    # A warehouse without its catalog is a damaged store, which has an error of its own.
    return catalog is None or catalog.exists() or settings.warehouse_path.exists()


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


def target_project(
    catalog: "Catalog", project_id: str | None, *, name_of_new: str, account_id: str | None = None
) -> "Project":
    """Return the project of that id, the only project, or a new one in the only account; CommandError.

    With an account only its projects count.
    """
    if project_id is not None:
        return catalog.projects.find(project_id)
    if account_id is not None:
        account_id = account_of(catalog, account_id)
    projects = [one for one in catalog.projects.all() if account_id in {None, one.account_id}]
    if len(projects) > 1:
        listed = ", ".join(f"{project.id} ({project.name})" for project in projects)
        raise CommandError(
            "this store has several projects; name one with --project, or by `project` in the file that "
            f"describes a source: {listed}"
        )
    if projects:
        return projects[0]
    fields: dict[str, object] = {"name": name_of_new, "url": URL_OF_NEW}
    return new_project(catalog, account_of(catalog, account_id), fields)


def account_of(catalog: "Catalog", account_id: str | None) -> str:
    """Return the id of an account that exists, by default of the only one; CommandError."""
    if account_id is not None:
        return catalog.accounts.get(account_id).id
    accounts = catalog.accounts.all()
    if not accounts:
        raise CommandError("this store has no account yet; run `truelift init` first")
    if len(accounts) > 1:
        listed = ", ".join(f"{account.id} ({account.name})" for account in accounts)
        raise CommandError(f"this store has several accounts; name one with --account: {listed}")
    return accounts[0].id


def new_project(catalog: "Catalog", account_id: str, fields: dict[str, object]) -> "Project":
    """Create a project of an account, with the defaults of the API."""
    from engine.design.project import draft_project
    from pipeline.clock import utc_now
    from pipeline.store.catalog.ids import new_id, new_sdk_key

    project = draft_project(
        fields, id=new_id("prj"), account_id=account_id, sdk_key=new_sdk_key(), now=utc_now()
    )
    return catalog.projects.create(project, actor="cli")
