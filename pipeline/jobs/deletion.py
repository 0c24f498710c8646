"""How what was collected for deleted projects and experiments is removed."""

from collections.abc import Iterable
from functools import partial

from pipeline.ingest import Ingest
from pipeline.rollup.run import Rollup
from pipeline.run_each import run_each
from pipeline.snapshots.writer import Snapshots
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import events, published
from pipeline.store.warehouse.connection import Warehouse


def remove_deleted(
    catalog: Catalog, warehouse: Warehouse, ingest: Ingest, rollup: Rollup, snapshots: Snapshots
) -> None:
    """Remove what is still stored of what was deleted; ExceptionGroup of what could not be.

    The catalog loses a project first, so nobody ever sees one without its data, and where the process ends
    in between, the next call finishes. Only what the trail calls deleted is removed: what the catalog
    merely does not know stays, since it may be the catalog that is not the right one.
    """
    projects = _deleted(catalog, events.stored_projects(warehouse), catalog.projects.ids())
    copied = _deleted(catalog, snapshots.stored_projects(), catalog.projects.ids())
    experiments = _deleted(catalog, published.list_experiments(warehouse), catalog.experiments.ids())
    run_each(
        {f"project {one}": partial(ingest.forget, one) for one in projects}
        | {f"snapshot of project {one}": partial(snapshots.forget, one) for one in copied}
        | {f"experiment {one}": partial(rollup.forget, [one]) for one in experiments}
    )


def _deleted(catalog: Catalog, stored: Iterable[str], kept: set[str]) -> list[str]:
    return [one for one in stored if one not in kept and catalog.audit.tells_of_deletion(one)]
