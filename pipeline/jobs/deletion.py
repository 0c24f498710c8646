"""Deletion job: the stored data of deleted projects and experiments."""

from collections.abc import Iterable
from functools import partial

from pipeline.ingest.ingest import Ingest
from pipeline.rollup.run import Rollup
from pipeline.run_each import run_each
from pipeline.snapshots.writer import Snapshots
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import events, published
from pipeline.store.warehouse.connection import Warehouse


def remove_deleted(
    catalog: Catalog, warehouse: Warehouse, ingest: Ingest, rollup: Rollup, snapshots: Snapshots
) -> None:
    """Remove the stored data of deleted projects and experiments; ExceptionGroup of the failures.

    The catalog loses a project first, so that no reader finds a project without its data; where the process
    ends in between, the next call finishes. Only what the audit trail records as deleted is removed: data
    that is absent from the catalog without such an entry stays, since the catalog may be the wrong one.
    """
    # A project whose events all wait in the spool has no table yet.
    ingest.load()
    projects = _deleted(catalog, events.stored_projects(warehouse), catalog.projects.ids())
    copies = _deleted(catalog, snapshots.stored_projects(), catalog.projects.ids())
    experiments = _deleted(catalog, published.list_experiments(warehouse), catalog.experiments.ids())
    run_each(
        {f"project {one}": partial(ingest.forget, one) for one in projects}
        | {f"snapshot of project {one}": partial(snapshots.forget, one) for one in copies}
        | {f"experiment {one}": partial(rollup.forget, [one]) for one in experiments}
    )


def _deleted(catalog: Catalog, stored: Iterable[str], existing: set[str]) -> list[str]:
    return [one for one in stored if one not in existing and catalog.audit.was_deleted(one)]
