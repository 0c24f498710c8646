"""A killed import is finished by the same command: every row counts, and none twice."""

import csv
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.settings import Settings
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import events, published
from pipeline.store.warehouse.connection import Warehouse
from tests.builders import STARTED
from tests.resilience.kills import IMPORTED, KillLoop, Workers
from tests.resilience.store_parts import counted

# More than one chunk of the reader, and so more than one commit.
ROWS = 50_200


def write_file(path: Path) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("visitor", "arm", "at", "revenue"))
        for number in range(ROWS):
            at = STARTED + timedelta(seconds=number)
            rows.writerow((f"v{number}", "AB"[number % 2], at.isoformat(), number % 7))


def imported_parts(data_dir: Path) -> dict[str, Any]:
    """Read what an import makes, apart from the ids that it gives."""
    settings = Settings(data_dir=data_dir)
    catalog, warehouse = Catalog.open(settings), Warehouse.open(settings)
    parts: dict[str, Any] = {}
    for project in catalog.projects.all():
        (parts["project"],) = {one.name for one in catalog.projects.all()}
        for experiment in catalog.experiments.of_project(project.id):
            parts["experiment"] = experiment.name
            if experiment.status == "running":
                parts["is running"] = True
            with warehouse.transaction() as cursor:
                if published.list_experiments(warehouse):
                    parts["results"] = counted(cursor, experiment.id)
        parts["experiments"] = len(catalog.experiments.of_project(project.id)) or None
    parts["events"] = sum(_distinct(warehouse, one) for one in events.stored_projects(warehouse))
    warehouse.close()
    catalog.close()
    return parts


def _distinct(warehouse: Warehouse, project_id: str) -> int:
    with warehouse.cursor() as cursor:
        query = f'SELECT count(DISTINCT event_id) FROM "{events.table_name(project_id)}"'  # noqa: S608
        return int(cursor.execute(query).fetchall()[0][0])


def survive(tmp_path: Path, workers: Workers, kills: int) -> None:
    write_file(tmp_path / IMPORTED)
    prepared = tmp_path / "prepared"
    catalog = Catalog.open(Settings(data_dir=prepared))
    catalog.accounts.create("Acme", "owner@acme.example")
    catalog.close()
    loop = KillLoop(workers, "import", prepared, tmp_path, imported_parts, grow=frozenset({"events"}))
    store = loop.survive(kills, seed=7)
    whole = imported_parts(store)
    assert whole["events"] == ROWS + sum(number % 7 > 0 for number in range(ROWS))
    workers.finish("import", store)
    assert imported_parts(store) == whole


@pytest.mark.slow
def test_import_is_whole_after_some_kills(tmp_path: Path, workers: Workers) -> None:
    survive(tmp_path, workers, 2)


@pytest.mark.slow
@pytest.mark.long
def test_import_is_whole_after_many_kills(tmp_path: Path, workers: Workers) -> None:
    survive(tmp_path, workers, 12)
