"""The parts of a store that change together or not at all."""

from pathlib import Path
from typing import Any

import polars as pl

from pipeline.runs.night_work import NIGHTLY
from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.job_records import NEVER_DONE
from pipeline.store.documents import document_of
from pipeline.store.warehouse import aggregates, earlier_results, events, published, visitors
from pipeline.store.warehouse.connection import Cursor, Warehouse, fetch_frame
from pipeline.store.warehouse.visitors import result_table
from tests.pipeline.snapshots_at_hand import assert_whole


def parts_of(data_dir: Path) -> dict[str, Any]:
    """Read every project, experiment, table of events, set of results and snapshot, by its name."""
    settings = Settings(data_dir=data_dir)
    catalog, warehouse = Catalog.open(settings), Warehouse.open(settings)
    try:
        return {
            **_catalog_parts(catalog),
            **_warehouse_parts(warehouse),
            **_snapshot_parts(settings.snapshots_path),
        }
    finally:
        warehouse.close()
        catalog.close()


def _catalog_parts(catalog: Catalog) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    nights = catalog.job_records.of(NIGHTLY)
    for project in catalog.projects.all():
        parts[f"last night of {project.id}"] = nights.get(project.id, NEVER_DONE).period
        parts[f"project {project.id}"] = document_of(project), _audited(catalog, project.id)
        for experiment in catalog.experiments.of_project(project.id):
            parts[experiment.id] = document_of(experiment), _audited(catalog, experiment.id)
    return parts


def _audited(catalog: Catalog, subject_id: str) -> list[Any]:
    return [(entry.actor, entry.changes) for entry in catalog.audit.of(subject_id)]


def _warehouse_parts(warehouse: Warehouse) -> dict[str, Any]:
    parts: dict[str, Any] = {
        f"events of {project_id}": _events(warehouse, project_id)
        for project_id in events.stored_projects(warehouse)
    }
    with warehouse.transaction() as cursor:
        for (table,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            parts[f"table {table}"] = True
        # A store that was not opened to its end lacks it.
        published.create_tables(cursor)
    results = published.list_experiments(warehouse)
    with warehouse.transaction() as cursor:
        for experiment_id in results:
            parts[f"nights of {experiment_id}"] = published.list_kept(cursor, experiment_id)
            parts[f"results of {experiment_id}"] = (
                published.find(cursor, experiment_id),
                *counted(cursor, experiment_id),
            )
    return parts


def _events(warehouse: Warehouse, project_id: str) -> tuple[Any, ...]:
    with warehouse.cursor() as cursor:
        query = f"""
            SELECT count(*), count(DISTINCT event_id), count(DISTINCT seq), max(seq), bit_xor(hash(event_id))
            FROM "{events.table_name(project_id)}"
        """  # noqa: S608 (a name of ours)
        (row,) = cursor.execute(query).fetchall()
        columns = cursor.execute(f'DESCRIBE "{events.table_name(project_id)}"').fetchall()
    # No number is given twice.
    assert row[0] == row[2]
    return (*row, columns)


def counted(cursor: Cursor, experiment_id: str) -> tuple[Any, ...]:
    """Read the visitors and the sums of an experiment; these do not depend on its ids."""
    if earlier_results.find_earlier(cursor, [experiment_id]):
        kinds = ("visitors", "orders", "aggregates")
        tables = [fetch_frame(cursor, f"FROM {result_table(kind, experiment_id)}") for kind in kinds]
        return tuple(sorted(map(repr, table.rows())) for table in tables)
    cells = aggregates.read_all(cursor, experiment_id)
    everyone = cells.filter(pl.col("dimension").is_in([aggregates.EVERYONE, aggregates.SINCE_EXPOSURE]))
    return visitors.digest(cursor, experiment_id), sorted(map(repr, everyone.rows()))


def _snapshot_parts(folder: Path) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for manifest_file in folder.glob("*/manifest.json"):
        manifest = assert_whole(manifest_file.parent)
        rows = [one[kind]["rows"] for one in manifest["experiments"] for kind in ("visitors", "aggregates")]
        parts[f"snapshot of {manifest_file.parent.name}"] = manifest["last_seq"], rows
    return parts
