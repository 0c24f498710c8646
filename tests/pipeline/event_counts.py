"""Stored events of a project, counted for tests."""

from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.events import has_table, table_name


def count_by_type(warehouse: Warehouse, project_id: str) -> dict[str, int]:
    """Count a project's events by type, repeats of an event id included."""
    with warehouse.cursor() as cursor:
        if not has_table(cursor, project_id):
            return {}
        query = f'SELECT type, count(*) FROM "{table_name(project_id)}" GROUP BY type'  # noqa: S608  # a checked id
        rows = cursor.execute(query).fetchall()
    return dict(rows)
