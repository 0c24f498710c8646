"""Doors of a segment dimension: the ways in for its values, and the answers and pages that show them."""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import polars as pl
from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.settings import Settings
from pipeline.snapshots.reader import open_snapshot
from pipeline.store.event_columns import DIMENSIONS
from tests.api.customers import Customer, a_browser, a_customer_of

# What a sender says of a visitor, where not any text will do.
VALUES: Final[Mapping[str, str]] = {
    "device_type": "tablet",
    "visitor_type": "returning",
    "visitor_identity": "identified",
    "country": "DE",
    "language": "de-AT",
}
# What a browser's request says of its visitor, and where.
OF_REQUESTS: Final[Mapping[str, str]] = {
    "device_type": "mobile",
    "os": "iOS",
    "browser": "Mobile Safari",
    "country": "AT",
    "region": "9",
    "language": "fr-CA",
    "traffic_source": "email",
    "utm_source": "letter",
    "utm_medium": "email",
    "utm_campaign": "spring",
}
HEADERS: Final[Mapping[str, str]] = {
    "user-agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    "cf-ipcountry": "AT",
    "cf-region-code": "9",
    "accept-language": "en;q=0.5, fr-ca",
}
ADDRESS: Final = "https://shop.example/?utm_source=letter&utm_medium=email&utm_campaign=spring"
FILTERED: Final = ("results", "results/summary", "results/timeseries", "results/export")


def value_of(dimension: str) -> str:
    """What the senders below say of a visitor."""
    return VALUES.get(dimension, f"a {dimension}")


@dataclass(frozen=True, slots=True)
class Doors:
    """A service, a customer of it, and a project with a running experiment, by its path."""

    customer: Customer
    project: str
    experiment: str

    @classmethod
    @contextmanager
    def opened(cls, data_dir: Path) -> Iterator["Doors"]:
        """Serve a new store with one experiment."""
        with served(data_dir) as client:
            customer = a_customer_of(client)
            project = customer.a_project()
            experiment = customer.an_experiment(project)
            customer.post(f"{experiment}/start")
            yield cls(customer, project, experiment)

    @classmethod
    @contextmanager
    def opened_again(cls, data_dir: Path, token: str, project: str, experiment: str) -> Iterator["Doors"]:
        """Serve a store that `opened` made."""
        with served(data_dir) as client:
            services = client.app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
            (account,) = services.catalog.accounts.all()
            yield cls(Customer(client, services, account, token), project, experiment)

    def exposure(self, visitor: str, variant: int = 0, **fields: Any) -> dict[str, Any]:
        """Build an exposure of a visitor."""
        shown = self.customer.data_of(self.experiment)
        return {
            "event_id": f"x-{visitor}",
            "type": "exposure",
            "visitor_id": visitor,
            "experiment_id": shown["id"],
            "variant_id": shown["variants"][variant]["id"],
            **fields,
        }

    def track(self, *events: Mapping[str, Any], **headers: str) -> None:
        """Send events, as a browser where `headers` are given."""
        body = {"batch": events, "project_id": self.project.rpartition("/")[2]}
        if headers:
            key = self.customer.data_of(f"{self.project}/installation")["api_key"]
            named = {"x-sdk-key": key} | {name.replace("_", "-"): value for name, value in headers.items()}
            answer = self.customer.client.post("/api/v1/sdk/track", json=body, headers=named)
        else:
            answer = self.customer.post("/sdk/track", body)
        assert answer.json()["rejected"] == 0, answer.text

    def import_rows(self, rows: pl.DataFrame, **query: str) -> dict[str, Any]:
        """Import a file, and return its run."""
        answer = self.customer.call(
            "POST",
            f"{self.project}/imports",
            content=rows.write_csv().encode(),
            params=query,
            headers={"Content-Type": "text/csv"},
        )
        assert answer.status_code == 202, answer.text
        ended = self.customer.ended_run(self.project, answer.json()["data"])
        assert (ended["status"], ended["result"]["rows"]["rejected"]) == ("done", 0), ended
        return ended

    def bring_in(self, dimensions: Collection[str]) -> str:
        """Send values of dimensions by every way that takes them; returns the path of an imported experiment.

        Each dimension has a visitor of its own: `track` tells of it, a file of events, and one of visitors.
        """
        self.track(*(self.exposure(f"t {name}", attributes={name: value_of(name)}) for name in dimensions))
        events = [self.exposure(f"e {name}", 1, **{name: value_of(name)}) for name in dimensions]
        self.import_rows(pl.DataFrame(events, infer_schema_length=None))
        visitors = [
            {"id": f"v {name}", "page": "AB"[place % 2], "bought": 0, name: value_of(name)}
            for place, name in enumerate([*dimensions, "nothing"])
        ]
        run = self.import_rows(
            pl.DataFrame(visitors, infer_schema_length=None).drop("nothing"),
            variant="page",
            control="A",
            goals="bought",
            visitor="id",
            segments=",".join(dimensions),
        )
        (imported,) = run["result"]["experiment_ids"]
        return f"{self.project}/experiments/{imported}"

    def visitors(self, experiment: str, **filters: str) -> set[int]:
        """Count the visitors of an experiment in each of the answers that take filters."""
        read = {place: self.customer.get(f"{experiment}/{place}", **filters) for place in FILTERED[:-1]}
        assert {answer.status_code for answer in read.values()} == {200}
        whole, summary, days = (answer.json()["data"] for answer in read.values())
        variants, *_ = whole["variants"].values()
        export = self.exported(experiment, **filters)
        assert (whole["active_segment"] or {}) == filters
        return {
            sum(one["visitors"] for one in variants),
            sum(one["visitors"] for one in summary["variants"]),
            sum(one["visitors"] for day in days for one in day["variants"].values()),
            len(export),
        }

    def exported(self, experiment: str, **filters: str) -> list[dict[str, str]]:
        """Read the export of an experiment."""
        answer = self.customer.get(f"{experiment}/results/export", format="csv", **filters)
        assert answer.status_code == 200, answer.text
        return list(csv.DictReader(io.StringIO(answer.text)))

    def shown(self, dimension: str) -> dict[str, Any]:
        """What is seen of a dimension of the experiment where results are shown as a whole."""
        results = self.customer.data_of(f"{self.experiment}/results")
        splits = self.customer.get(f"{self.experiment}/results/segments", dimension=dimension).json()["data"]
        counted = {
            one["value"]: sum(one["visitors"].values())
            for one in splits["sample_ratios"]
            if one["dimension"] == dimension
        }
        return {
            "available": results["available_segments"][DIMENSIONS[dimension].plural],
            "segments": counted,
            "export": _counts([row[dimension] for row in self.exported(self.experiment)]),
            "form": self._options(dimension),
            "snapshot": self._in_snapshot(dimension),
        }

    def _options(self, dimension: str) -> list[str]:
        client = self.customer.client
        assert isinstance(client, TestClient)
        browser = a_browser(client)
        assert browser.post("/sign-in", data={"key": self.customer.token}).status_code == 303
        links = re.findall(r'<li><a[^>]* href="([^"]*)"', browser.get(self.experiment).text)
        asked = [parse_qs(urlsplit(unescape(link)).query).get(dimension) for link in links]
        return [values[0] for values in asked if values]

    def _in_snapshot(self, dimension: str) -> dict[str, int]:
        project_id = self.project.rpartition("/")[2]
        self.customer.services.snapshots.write(project_id)
        snapshot = open_snapshot(self.customer.services.settings.snapshots_path / project_id)
        visitors = snapshot.visitors(self.experiment.rpartition("/")[2]).collect()
        return _counts([value or "" for value in visitors[dimension].to_list()])


@contextmanager
def served(data_dir: Path) -> Iterator[TestClient]:
    """The service on a store, which counts when it is asked."""
    settings = Settings(data_dir=data_dir, catalog_url=None, fresh_read_seconds=60, refresh_seconds=10**6)
    local = ("127.0.0.1", 50_000)
    with TestClient(create_app(settings), client=local) as client:
        yield client


def _counts(values: list[str]) -> dict[str, int]:
    return {value: values.count(value) for value in sorted(set(values)) if value}
