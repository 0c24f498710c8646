"""Events mean the same whichever way they come: every number of the results is equal."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import psycopg
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from engine.local_days import epoch_microseconds
from pipeline.clock import utc_now
from pipeline.imports.exposed_experiments import SeenExposures, find_or_draft
from pipeline.imports.imported_experiment import run_from_first_to_last_visitor
from pipeline.imports.source_import import import_source
from pipeline.results.filters import SegmentFilters
from pipeline.sources.definition_files import read_definition
from tests.api.customers import Customer
from tests.pipeline.imports.described_sources import EXPOSURES, ORDERS, describe, shop_rows, write_shop


class Ways:
    """The same events in projects of one service: by HTTP, files, PostgreSQL and lakes."""

    def __init__(self, customer: Customer, folder: Path, events: int) -> None:
        self.customer = customer
        self.services = customer.services
        self.now = utc_now()
        self.folder = folder
        self.exposures, self.orders = shop_rows(events)
        write_shop(folder, self.exposures, self.orders)

    def send(self, *, orders_by: str = "/sdk/convert") -> str:
        """Send the events by HTTP, and return the project's id."""
        project = self.services.catalog.projects.find(self.customer.a_project().rpartition("/")[2])
        source = read_definition(describe(self.folder, "exposures", EXPOSURES)).source
        first = min(row["at"] for row in self.exposures)
        seen = SeenExposures({"Checkout": {"A", "B", "C"}}, {"Checkout": epoch_microseconds(first)})
        experiment = find_or_draft(self.services, project, source, seen, now=utc_now())["Checkout"]
        last = max(row["at"] for row in self.exposures)
        run_from_first_to_last_visitor(self.services.catalog, experiment, first=first, last=last)
        variants = {variant.name: variant.id for variant in experiment.variants}
        exposed = [
            {
                "event_id": row["id"],
                "type": "exposure",
                "visitor_id": row["who"],
                "timestamp": row["at"].isoformat(),
                "experiment_id": experiment.id,
                "variant_id": variants[row["arm"]],
                "attributes": {name: row[name] for name in ("user_agent", "country", "plan")},
            }
            for row in self.exposures
        ]
        ordered = [
            {
                "event_id": row["id"],
                # `convert` takes no type, and ignores it.
                "type": "conversion",
                "visitor_id": row["who"],
                "event_name": "order",
                "timestamp": row["at"].isoformat(),
                "revenue_cents": abs(round(row["paid"] * 100)),
                "transaction_id": row["order_number"],
                "kind": "refund" if row["paid"] < 0 else "conversion",
            }
            for row in self.orders
        ]
        for path, events in ((orders_by, ordered), ("/sdk/track", exposed)):
            for begin in range(0, len(events), 500):
                body = {"project_id": project.id, "batch": events[begin : begin + 500]}
                answer = self.customer.post(path, body)
                assert answer.status_code == 200, answer.text
                assert answer.json()["rejected"] == 0
        return project.id

    def import_from(self, locations: dict[str, str]) -> str:
        """Import the events from locations of the two sources, and return the project's id."""
        project = self.services.catalog.projects.find(self.customer.a_project().rpartition("/")[2])
        for name, text in (("exposures", EXPOSURES), ("orders", ORDERS)):
            changes = {f'location = "{name}.parquet"': locations[name]}
            import_source(
                read_definition(describe(self.folder, name, text, changes)), project, store=self.services
            )
        return project.id

    def numbers(self, project_id: str) -> list[str]:
        """Write every number of the results, of all visitors and of a segment, with names instead of ids."""
        project = self.services.catalog.projects.find(project_id)
        self.services.rollup.refresh(project_id)
        (experiment,) = self.services.catalog.experiments.of_project(project_id)
        ids = {experiment.id: "experiment"}
        ids |= {variant.id: variant.name for variant in experiment.variants}
        ids |= {goal.id: goal.name for goal in experiment.goals}
        texts = []
        for filters in ({}, {"country": "DE"}):
            given = SegmentFilters.from_query(filters)
            report = self.services.results.report(experiment, project, given, now=self.now)
            # Imports tell no `visitor_type`, so there are as many segments less to check; and what brings
            # newer events is another import, and no page.
            differing: dict[str, dict[str, Any]] = {
                "sample_ratio_by_segment": {"details": {}},
                "freshness": {"message": ""},
            }
            health = [replace(check, **differing.get(check.check, {})) for check in report.health]
            text = repr((report.goals, health))
            for one, name in ids.items():
                text = text.replace(one, name)
            texts.append(text)
        return texts


def in_postgresql(url: str, folder: Path) -> dict[str, str]:
    """Copy the files to PostgreSQL, and return the locations of its tables."""
    columns = {
        "exposures": "id text, who text, at timestamptz, arm text, user_agent text, country text, plan text",
        "orders": "id text, who text, at timestamptz, paid numeric, order_number text",
    }
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        for name, kinds in columns.items():
            cursor.execute(f"CREATE TABLE {name} ({kinds})".encode())
            with cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in pl.read_parquet(folder / f"{name}.parquet").iter_rows():
                    copy.write_row(row)
    return {name: f'location = "{url}"\ntable = "{name}"' for name in columns}


def in_lakes(folder: Path) -> dict[str, str]:
    """Copy the files to a Delta and an Iceberg table, and return their locations."""
    frames = {name: pl.read_parquet(folder / f"{name}.parquet") for name in ("exposures", "orders")}
    deltalake.write_deltalake(folder / "exposed", frames["exposures"], partition_by=["arm"])
    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
    catalog.create_namespace("shop")
    rows = frames["orders"].to_arrow()
    table = catalog.create_table("shop.orders", schema=rows.schema)
    table.append(rows)
    catalog.close()
    path = table.metadata_location.removeprefix("file://")
    return {"exposures": 'location = "exposed"', "orders": f'location = "{path}"'}


def compare(ways: Ways, url: str) -> None:
    sent = ways.numbers(ways.send())
    assert "p_value" in sent[0]
    assert sent[0] != sent[1]
    assert ways.numbers(ways.send(orders_by="/sdk/track")) == sent
    files = {name: f'location = "{name}.parquet"' for name in ("exposures", "orders")}
    for locations in (files, in_postgresql(url, ways.folder), in_lakes(ways.folder)):
        assert ways.numbers(ways.import_from(locations)) == sent


def test_events_count_the_same_by_http_files_postgresql_and_lakes(
    customer: Customer, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    compare(Ways(customer, tmp_path, 1_200), new_database())


@pytest.mark.slow
@pytest.mark.long(seconds=36)
def test_many_events_count_the_same_by_http_files_postgresql_and_lakes(
    customer: Customer, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    compare(Ways(customer, tmp_path, 100_000), new_database())
