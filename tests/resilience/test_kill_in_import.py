"""A killed import is finished by the same command: every row counts, and none twice."""

import csv
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.settings import Settings
from pipeline.sources.watermarks import read_watermarks
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.warehouse import events, published
from pipeline.store.warehouse.connection import Warehouse
from tests.builders import STARTED
from tests.resilience.kills import KillLoop, Workers
from tests.resilience.store_parts import counted
from tests.resilience.workers import CHUNK_ROWS, IMPORTED, SOURCES

# More than one chunk of the reader, and so more than one commit.
ROWS = CHUNK_ROWS + 200
ORDERS = 200


def write_file(path: Path) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("visitor", "arm", "at", "revenue"))
        for number in range(ROWS):
            at = STARTED + timedelta(seconds=number)
            rows.writerow((f"v{number}", "AB"[number % 2], at.isoformat(), number % 7))


SEEN = """kind = "exposures"
location = "visitors.csv"
[columns]
visitor = "visitor"
timestamp = "at"
variant = "arm"
[[experiments]]
name = "Checkout"
control = "A"
goals = [{ name = "Revenue", goal_type = "revenue", config = { event_name = "order" } }]
"""
BOUGHT = """kind = "events"
location = "orders.csv"
event = "order"
[columns]
visitor = "visitor"
timestamp = "at"
revenue = "revenue"
"""


def describe_sources(folder: Path) -> None:
    """Describe the visitors as exposures, and the orders of some of them as events."""
    visitors = (folder / IMPORTED).read_text().splitlines(keepends=True)
    (folder / "orders.csv").write_text("".join(visitors[: ORDERS + 1]))
    for name, text in zip(SOURCES, (SEEN, BOUGHT), strict=True):
        (folder / name).write_text(text)


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
        for name, watermark in read_watermarks(data_dir, project.id).items():
            parts[f"rows of {name}"] = watermark.rows
        parts["experiments"] = len(catalog.experiments.of_project(project.id)) or None
    parts["events"] = sum(_distinct(warehouse, one) for one in events.stored_projects(warehouse))
    warehouse.close()
    catalog.close()
    return parts


def _distinct(warehouse: Warehouse, project_id: str) -> int:
    with warehouse.cursor() as cursor:
        query = f'SELECT count(DISTINCT event_id) FROM "{events.table_name(project_id)}"'  # noqa: S608
        return int(cursor.execute(query).fetchall()[0][0])


def survive(tmp_path: Path, workers: Workers, kills: int, work: str = "import") -> dict[str, Any]:
    """Kill an import so often; return what is in the store once the same command came to its end, twice."""
    write_file(tmp_path / IMPORTED)
    describe_sources(tmp_path)
    prepared = tmp_path / "prepared"
    catalog = Catalog.open(Settings(data_dir=prepared))
    catalog.accounts.create("Acme", "owner@acme.example")
    catalog.close()
    # A source is read in chunks, and its watermark says after each how many rows are in.
    read = {"rows of seen", "rows of orders"} if work == "source import" else set()
    loop = KillLoop(workers, work, prepared, tmp_path, imported_parts, grow=frozenset({"events", *read}))
    store = loop.survive(kills, seed=7)
    whole = imported_parts(store)
    workers.finish(work, store)
    assert imported_parts(store) == whole
    return whole


def assert_all_of_the_file(whole: dict[str, Any]) -> None:
    assert whole["events"] == ROWS + sum(number % 7 > 0 for number in range(ROWS))


def assert_all_of_the_sources(whole: dict[str, Any]) -> None:
    assert whole["events"] == ROWS + ORDERS
    assert whole["rows of seen"] == ROWS
    assert whole["rows of orders"] == ORDERS
    assert whole["is running"]
    assert whole["results"]


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.long(seconds=14))])
def test_import_is_whole_after_kills(tmp_path: Path, workers: Workers, kills: int) -> None:
    assert_all_of_the_file(survive(tmp_path, workers, kills))


@pytest.mark.slow
@pytest.mark.long(seconds=14)
def test_import_of_sources_is_whole_after_kills(tmp_path: Path, workers: Workers) -> None:
    assert_all_of_the_sources(survive(tmp_path, workers, 8, "source import"))
