"""A service in this process, with an experiment of two goals, and readers of it."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_browser, a_customer_of
from tests.api.routes.test_results import Observed, observe
from truelift.remote.rest_reader import RestReader


@pytest.fixture(scope="package")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("store"), fresh_read_seconds=60, refresh_seconds=10**6
    )
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        customer = a_customer_of(client)
        yield observe(customer, customer.a_project())


def reader_of(customer: Customer, token: str | None = None) -> RestReader:
    """Read with the customer's key, or another one, and without waiting."""
    assert isinstance(customer.client, TestClient)
    key = {"Authorization": f"Bearer {token or customer.token}"}
    return RestReader(a_browser(customer.client, headers=key), sleep=lambda _: None)
