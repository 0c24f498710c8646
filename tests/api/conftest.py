"""A service on a store of its own, and customers of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.services import Services
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer, a_customer_of
from tests.api.described_sources import describe_source
from tests.api.shops import Shop


@pytest.fixture(scope="session")
def client(open_client: Callable[[], TestClient]) -> TestClient:
    return open_client()


@pytest.fixture(scope="module")
def own_client(open_client: Callable[[], TestClient]) -> TestClient:
    """A service whose store has what this module writes, and no more: an erasure reads the whole store."""
    return open_client()


@pytest.fixture(scope="session")
def open_client(
    tmp_path_factory: pytest.TempPathFactory, new_catalog_url: Callable[[], str | None]
) -> Iterator[Callable[[], TestClient]]:
    """Return a function that serves a new store until the end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(_served(tmp_path_factory.mktemp("store"), new_catalog_url()))


@contextmanager
def _served(folder: Path, catalog_url: str | None) -> Iterator[TestClient]:
    # Results wait for the rollup as long as a busy machine takes for it.
    # It counts when asked, not every minute too: that would be a thousand projects, beside all later tests.
    settings = Settings(
        data_dir=folder, catalog_url=catalog_url, fresh_read_seconds=60, refresh_seconds=10**6
    )
    # What the program does not foresee is to be answered, not raised into the test.
    # It is a trusted proxy by default, so that a test may say where a request comes from.
    local = ("127.0.0.1", 50_000)
    with TestClient(create_app(settings), raise_server_exceptions=False, client=local) as opened:
        yield opened


@pytest.fixture(scope="session")
def services(client: TestClient) -> Services:
    found: Services = client.app.state.services  # type: ignore[attr-defined] # typed as any ASGI app
    return found


@pytest.fixture
def customer(client: TestClient, services: Services) -> Customer:
    return a_customer(client, services)


@pytest.fixture
def stranger(client: TestClient, services: Services) -> Customer:
    return a_customer(client, services, "Stranger")


@pytest.fixture
def project(customer: Customer) -> str:
    return customer.a_project()


@pytest.fixture
def experiment(customer: Customer, project: str) -> str:
    return customer.an_experiment(project)


@pytest.fixture
def shop(customer: Customer, project: str, experiment: str) -> Shop:
    return Shop.opened_by(customer, project, experiment)


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    """A customer without limits, of a service of its own, for property tests."""
    folder = tmp_path_factory.mktemp("store")
    with TestClient(create_app(Settings(data_dir=folder)), raise_server_exceptions=False) as client:
        customer = a_customer_of(client)
        customer.services.catalog.accounts.update(customer.account.id, rate_limit=10**6, max_projects=10**6)
        yield customer


@pytest.fixture(scope="module")
def places(unlimited: Customer) -> dict[str, str]:
    project = unlimited.a_project()
    experiment = unlimited.an_experiment(project)
    metric = unlimited.a_metric(project)
    started = unlimited.an_experiment(project)
    unlimited.post(f"{started}/start")
    reviewed = unlimited.a_reviewed_draft(project)
    project_id = project.rpartition("/")[2]
    describe_source(unlimited.services, "described", project_id)
    member = unlimited.services.catalog.members.add(unlimited.account.id, "bo@acme.example", "Bo")
    return {
        "project": project,
        "experiment": experiment,
        "started": started,
        "reviewed": reviewed,
        "metric": metric,
        "holdout": unlimited.a_holdout(project),
        # Where a holdout can be made.
        "spare": unlimited.a_project(),
        "webhook": unlimited.a_webhook(project),
        "channel": unlimited.a_channel(project),
        "group": unlimited.a_group(project),
        "member": f"/account/members/{member.id}",
        "project_id": project_id,
    }
