"""A service whose files are removed while it runs: not ready, and nothing is acknowledged."""

import shutil
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import a_customer_of
from tests.api.request_bodies import error_of

EVENT = {"event_id": "e1", "type": "pageview", "visitor_id": "v1", "url": "https://shop.example/"}


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("name", ["warehouse.duckdb", "warehouse.duckdb.wal", "warehouse.duckdb.lock", "*"])
def test_a_service_without_its_files_is_not_ready_and_acknowledges_nothing(tmp_path: Path, name: str) -> None:
    store = tmp_path / "store"
    with TestClient(create_app(Settings(data_dir=store))) as client:
        customer = a_customer_of(client)
        project = customer.a_project().rpartition("/")[2]
        body = {"project_id": project, "batch": [EVENT]}
        assert customer.post("/sdk/track", body).status_code == 200
        assert client.get("/readyz").status_code == 200
        if name == "*":
            shutil.rmtree(store)
        else:
            (store / name).unlink()
        assert "not ready" in error_of(client.get("/readyz"), 503, "unavailable")["message"]
        if name != "warehouse.duckdb.lock":
            error_of(customer.post("/sdk/track", body), 503, "unavailable")
        if name == "*":
            answer = customer.post("/projects", {"name": "B", "url": "https://b.example"})
            error_of(answer, 503, "unavailable")
