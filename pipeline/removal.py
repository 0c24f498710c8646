"""How what was collected for a deleted project is removed, even where the deletion was cut short."""

import logging
from collections.abc import Iterable

from pipeline.ingest import Ingest
from pipeline.rollup.run import Rollup
from pipeline.store import events, rollups
from pipeline.store.catalog import Catalog
from pipeline.store.warehouse import Warehouse

logger = logging.getLogger(__name__)


def remove_collected(ingest: Ingest, rollup: Rollup, project_id: str, experiment_ids: Iterable[str]) -> None:
    """Remove the events and results of a project that the catalog has already lost for good.

    In this order nobody ever sees a project without its data. What fails here is logged, and made up for
    by `remove_deleted`, as where the process ends in between.
    """
    try:
        ingest.forget(project_id)
        rollup.forget(experiment_ids)
    except Exception:
        logger.exception("what project %s collected could not be removed yet", project_id)


def remove_deleted(catalog: Catalog, warehouse: Warehouse, ingest: Ingest, rollup: Rollup) -> None:
    """Remove what is still stored of projects and experiments that were deleted.

    Only what the trail calls deleted: what the catalog merely does not know stays, since it may be the
    catalog that is not the right one.
    """
    kept = catalog.projects.ids()
    for project_id in _deleted(catalog, events.stored_projects(warehouse), kept):
        ingest.forget(project_id)
    published = rollups.published_experiments(warehouse)
    if forgotten := _deleted(catalog, published, catalog.experiments.ids()):
        # Waits for the rollup that is under way, if any.
        rollup.forget(forgotten)


def _deleted(catalog: Catalog, stored: Iterable[str], kept: set[str]) -> list[str]:
    return [one for one in stored if one not in kept and catalog.audit.tells_of_deletion(one)]
