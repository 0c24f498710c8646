"""Lists of 500 and of 10,000 experiments: pages and answers, beside a read of one project.

Processor time of the whole request, the least of some, with nothing kept but what the service keeps.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from fastapi.testclient import TestClient
from sqlalchemy import Column, ColumnElement, Text, cast, func, select

from api.app import create_app
from pipeline.settings import Settings
from pipeline.store.catalog.schema import experiment_listings, experiments, kept_verdicts
from tests.api.customers import Customer, a_browser, a_customer_of
from tests.api.dashboard.listed_shop import SHOP, fill

NUMBERS: Final = (500, 10_000)
ROUNDS: Final = int(os.environ.get("BENCH_LISTS_ROUNDS", "10"))


def run(numbers: tuple[int, ...] = NUMBERS) -> list[dict[str, Any]]:
    """Measure each list of so many experiments."""
    return [row for number in numbers for row in _rows(number)]


def _rows(number: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="truelift-bench-") as folder:
        settings = Settings(data_dir=Path(folder))
        with TestClient(create_app(settings)) as client:
            customer = a_customer_of(client)
            project = customer.a_project()
            _fill(customer, project, number)
            browser = a_browser(client)
            browser.post("/sign-in", data={"key": customer.token})
            floor = _least(lambda: customer.get(project).content)
            asked: dict[str, Callable[[], bytes]] = {
                "page of today": lambda: browser.get("/").content,
                "page of experiments": lambda: browser.get(project).content,
                "page of a search": lambda: browser.get(f"{project}?search=gallery+7&status=all").content,
                "page 15 by change": lambda: (
                    browser.get(f"{project}?sort=-improvement&page=15&status=all").content
                ),
                "list_experiments by name": lambda: (
                    customer.get(f"{project}/experiments", sort="name").content
                ),
                "list_experiments by tag and verdict": lambda: (
                    customer.get(f"{project}/experiments", tag="checkout", verdict="ship").content
                ),
                "list_project_verdicts, 500": lambda: customer.get(f"{project}/verdicts").content,
                "list_account_verdicts, 500": lambda: customer.get("/account/verdicts").content,
            }
            return [_row(number, what, ask, floor) for what, ask in asked.items()]


def _fill(customer: Customer, project: str, number: int) -> None:
    """Multiply the experiments of a shop with every verdict: rows alone, as each creation reads all keys."""
    fill(customer, project)
    tables = (experiments, experiment_listings, kept_verdicts)
    with customer.services.catalog.database.write() as connection:
        for each in range(1, number // len(SHOP)):
            for table in tables:
                copied = [_renamed(column, each) for column in table.columns]
                original = select(*copied).where(_ID[table.name].not_like("%-%"))
                connection.execute(table.insert().from_select([one.name for one in table.columns], original))


_ID: Final = {
    "experiments": experiments.c.id,
    "experiment_listings": experiment_listings.c.experiment_id,
    "kept_verdicts": kept_verdicts.c.experiment_id,
}


def _renamed(column: Column[Any], number: int) -> ColumnElement[Any]:
    """Select a column of a copy, which has a number in its ids and words."""
    if column.name in {"id", "experiment_id", "test_key"}:
        return column.concat(f"-{number}")
    if column.name in {"name", "words"}:
        return column.concat(f" {number}")
    if column.name == "document" and column.table is experiments:
        document: ColumnElement[Any] = cast(column, Text)
        for field in ("id", "test_key"):
            own = experiments.c[field]
            document = func.replace(document, '"' + own + '"', '"' + own + f'-{number}"')
        return document
    return column


def _row(number: int, what: str, ask: Callable[[], bytes], floor: float) -> dict[str, Any]:
    content = ask()
    took = _least(ask)
    return {
        "experiments": f"{number:,}",
        "what": what,
        "processor time": f"{1000 * took:.1f} ms",
        "read of a project": f"{1000 * floor:.1f} ms",
        "ratio": f"{took / floor:.1f}",
        "kB": f"{len(content) / 1000:,.0f}",
    }


def _least(ask: Callable[[], bytes]) -> float:
    """Return the least processor time of some rounds, of all threads."""
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        ask()
        times.append(time.process_time() - begun)
    return min(times)
