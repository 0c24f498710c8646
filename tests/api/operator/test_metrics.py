"""Metrics: closed by default, and read by the official parser."""

from collections.abc import Iterator

import httpx2
import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from api.app import create_app
from api.operator.metrics import metrics_text
from api.services import Services
from pipeline.jobs.jobs import JOBS
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer_of
from tests.api.shops import Shop

TOKEN = "a-token-of-the-operator"  # noqa: S105 (of this test's service)
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    """A customer of a service with metrics."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), metrics_token=TOKEN, catalog_url=None)
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        yield a_customer_of(client)


def scrape(client: httpx2.Client) -> Samples:
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "text/plain")
    return parsed(answer.text)


def parsed(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def requests_of(samples: Samples) -> dict[tuple[str, ...], float]:
    """Counts by method, route and status."""
    return {
        tuple(value for _, value in labels): count
        for (name, labels), count in samples.items()
        if name == "truelift_requests_total"
    }


def test_without_the_setting_and_without_its_token_there_is_no_such_path(
    client: TestClient, customer: Customer, watched: Customer
) -> None:
    for asked, token in (
        (client, TOKEN),
        (client, ""),
        (watched.client, ""),
        (watched.client, customer.token),
    ):
        answer = asked.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, "truelift_" in answer.text) == (404, False)


def test_an_empty_token_opens_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), metrics_token="", catalog_url=None)
    with TestClient(create_app(settings)) as client:
        assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_requests_are_counted_by_pattern_and_status(watched: Customer) -> None:
    before = requests_of(scrape(watched.client))
    project = watched.a_project()
    watched.get(project)
    watched.get("/projects/prj_unknown")
    watched.client.get("/no/such/path")
    watched.client.request("BREW", "/healthz")
    after = requests_of(scrape(watched.client))
    counted = {key: count - before.get(key, 0) for key, count in after.items()}
    assert counted["POST", "/api/v1/projects", "201"] == 1
    assert counted["GET", "/api/v1/projects/{id}", "200"] == 1
    assert counted["GET", "/api/v1/projects/{id}", "404"] == 1
    assert counted["GET", "other", "404"] == 1
    assert any(method == "other" for method, *_ in counted)
    assert not any(project.rpartition("/")[2] in route for _, route, _ in counted)


def test_events_jobs_and_the_disk_are_measured(watched: Customer) -> None:
    project = watched.a_project()
    shop = Shop.opened_by(watched, project, watched.an_experiment(project))
    before = scrape(watched.client)
    assert shop.post("/api/v1/sdk/track", {"batch": [shop.exposure("e1"), shop.exposure("e2")]}).is_success
    assert watched.services.ingest.load()
    refresh = next(job for job in JOBS if job.name == "refresh_results")
    watched.services.scheduler.run_now(refresh)
    after = scrape(watched.client)
    grown = {key: value - before.get(key, 0) for key, value in after.items()}
    assert grown["truelift_events_acknowledged_total", ()] == 2
    assert grown["truelift_commit_seconds_count", ()] == 1
    assert after["truelift_loader_lag_events", ()] == 0
    assert after["truelift_job_failures", (("job", "refresh_results"),)] == 0
    assert after["truelift_job_last_run_timestamp_seconds", (("job", "refresh_results"),)] > 0
    assert after["truelift_runs", (("status", "queued"),)] == 0
    assert after["truelift_disk_free_bytes", ()] > 0
    assert after["truelift_warehouse_bytes", ()] > 0
    assert after["truelift_rollup_age_seconds", ()] > 0
    route = (("method", "POST"), ("route", "/api/v1/sdk/track"), ("status", "200"))
    assert grown["truelift_requests_total", route] == 1


def test_names_and_labels_are_the_same_without_any_traffic(services: Services) -> None:
    names = {name for name, _ in parsed(metrics_text(services, requests={}).decode())}
    assert {"truelift_ingest_queue_bytes", "truelift_spool_bytes", "truelift_commit_seconds_sum"} <= names
