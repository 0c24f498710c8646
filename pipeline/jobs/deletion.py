"""Deletion job: the stored data of deleted projects and experiments."""

from collections.abc import Iterable
from functools import partial

from pipeline.run_each import run_each
from pipeline.runs.import_work import projects_with_imports, remove_imports_of
from pipeline.services import PipelineServices
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import events, published
from pipeline.store.warehouse.incremental import event_keys


def remove_deleted_projects(services: PipelineServices) -> None:
    """Remove the stored data of deleted projects and experiments; ExceptionGroup of the failures.

    The catalog loses a project first, so that no reader finds a project without its data; where the process
    ends in between, the next call finishes. Only what the audit trail records as deleted is removed: data
    that is absent from the catalog without such an entry stays, since the catalog may be the wrong one.
    """
    catalog, settings = services.catalog, services.settings
    # A project whose events all wait in the spool has no table yet.
    services.ingest.load()
    projects = _deleted(catalog, events.stored_projects(services.warehouse), catalog.projects.ids())
    imports = _deleted(catalog, projects_with_imports(settings), catalog.projects.ids())
    keys = _deleted(catalog, event_keys.stored_projects(services.warehouse), catalog.projects.ids())
    copies = _deleted(catalog, services.snapshots.stored_projects(), catalog.projects.ids())
    experiments = _deleted(catalog, published.list_experiments(services.warehouse), catalog.experiments.ids())
    run_each(
        {f"project {one}": partial(_forget_events, services, one) for one in projects}
        | {f"imports of project {one}": partial(remove_imports_of, settings, one) for one in imports}
        | {f"snapshot of project {one}": partial(services.snapshots.forget, one) for one in copies}
        | {f"keys of project {one}": partial(services.rollup.forget_keys, one) for one in keys}
        | {f"experiment {one}": partial(services.rollup.forget, [one]) for one in experiments}
    )


def _forget_events(services: PipelineServices, project_id: str) -> None:
    # A run under way would note afterwards how far it has counted them.
    with services.rollup.pause():
        services.ingest.forget(project_id)


def _deleted(catalog: Catalog, stored: Iterable[str], existing: set[str]) -> list[str]:
    return [one for one in stored if one not in existing and catalog.audit.was_deleted(one)]
