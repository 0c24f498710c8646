"""Rows of events, and what is stored of them."""

from pipeline.ingest.ingest import Ingest
from pipeline.store.event_columns import EventRow
from pipeline.store.warehouse.connection import Warehouse


def a_row(event_id: str = "e1", visitor_key: int = 1) -> EventRow:
    return EventRow(1, 1, event_id, 1, "exposure", "v1", visitor_key)


def stored(ingest: Ingest, warehouse: Warehouse, project_id: str = "prj_1") -> list[tuple[int, str]]:
    """Load what is acknowledged, and read a project's numbers and event ids."""
    assert ingest.load()
    with warehouse.cursor() as cursor:
        return cursor.execute(f'SELECT seq, event_id FROM "events_{project_id}" ORDER BY seq').fetchall()  # noqa: S608 (a literal id)
