from pathlib import Path

from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.jobs.jobs import Job
from pipeline.services import PipelineServices
from pipeline.settings import Settings
from tests.api.request_bodies import error_of


def test_service_says_that_it_is_alive_and_ready(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    # A test beside it may have hidden a table while a job of this service ran.
    assert client.get("/readyz").json()["status"] == "ready"


def test_service_whose_warehouse_is_closed_is_not_ready(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path))
    with TestClient(app, raise_server_exceptions=False) as client:
        app.state.services.warehouse.close()
        answer = client.get("/readyz")
        assert "warehouse" in error_of(answer, 503, "unavailable")["message"]
        assert int(answer.headers["Retry-After"]) >= 1
        assert client.get("/healthz").status_code == 200


def test_job_that_fails_is_named_and_keeps_no_request_away(tmp_path: Path) -> None:
    def fail(_: PipelineServices) -> None:
        raise RuntimeError("out of order")

    app = create_app(Settings(data_dir=tmp_path))
    with TestClient(app) as client:
        app.state.services.scheduler.run_now(Job("shaky", lambda _: 1, fail))
        assert client.get("/readyz").json() == {"status": "ready", "failing_jobs": ["shaky"]}
