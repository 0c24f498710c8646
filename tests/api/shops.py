"""A project with a running experiment, and requests to its SDK endpoints."""

import json
from dataclasses import dataclass
from typing import Any

import httpx2

from pipeline.store.warehouse.events import table_name
from tests.api.customers import Customer
from tests.pipeline.event_counts import count_by_type


@dataclass(frozen=True, slots=True)
class Shop:
    """A project with a running experiment, and its public key."""

    customer: Customer
    project_id: str
    sdk_key: str
    experiment: dict[str, Any]

    def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"X-SDK-Key": self.sdk_key, "Content-Type": "application/json", **_named(headers)}
        return self.customer.client.post(path, content=content, headers=sent)

    def exposure(self, event_id: str = "e1", **fields: Any) -> dict[str, Any]:
        return {
            "event_id": event_id,
            "type": "exposure",
            "visitor_id": "v1",
            "experiment_id": self.experiment["id"],
            "variant_id": self.experiment["variants"][0]["id"],
            **fields,
        }

    def stored(self, columns: str = "event_id") -> list[Any]:
        query = f'SELECT {columns} FROM "{table_name(self.project_id)}" ORDER BY seq'  # noqa: S608 (named here)
        assert self.customer.services.ingest.load()
        with self.customer.services.warehouse.cursor() as cursor:
            rows = cursor.execute(query).fetchall()
        return [row[0] if len(row) == 1 else row for row in rows]

    @classmethod
    def opened_by(cls, customer: Customer, project: str, experiment: str) -> "Shop":
        """Start the experiment."""
        project_id = project.rpartition("/")[2]
        started = customer.post(f"{experiment}/start").json()["data"]
        sdk_key = customer.services.catalog.projects.find(project_id).sdk_key
        return cls(customer, project_id, sdk_key, started)

    def stored_count(self) -> int:
        assert self.customer.services.ingest.load()
        return sum(count_by_type(self.customer.services.warehouse, self.project_id).values())


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
