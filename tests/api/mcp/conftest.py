"""A service on a real port, for customers and assistants."""

from collections.abc import Callable, Iterator
from typing import cast

import httpx2
import pytest
from fastapi import FastAPI
from mcp_types import Tool

from api.app import create_app
from api.mcp.tools import Operation, operations_of
from api.services import Services
from pipeline.settings import Settings
from tests.api.customers import Customer
from tests.api.mcp.assistants import Assistant
from tests.api.serving import served


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, new_catalog_url: Callable[[], str | None]) -> FastAPI:
    # Results wait for the rollup as long as a busy machine takes for it.
    # Not every minute: that would be every project of these tests, beside all later tests.
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("store"),
        catalog_url=new_catalog_url(),
        fresh_read_seconds=60,
        refresh_seconds=10**6,
    )
    return create_app(settings)


@pytest.fixture(scope="session")
def client(app: FastAPI) -> Iterator[httpx2.Client]:
    # An access log is what most services keep; here the tests look for keys in it.
    with served(app, access_log=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def services(app: FastAPI, client: httpx2.Client) -> Services:
    return cast("Services", app.state.services)


@pytest.fixture
def assistant(customer: Customer) -> Assistant:
    return Assistant(customer)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def operations(app: FastAPI) -> dict[str, Operation]:
    operations = operations_of(app)
    # Tests walk them all, and an empty dictionary would pass.
    assert len(operations) > 30
    return operations


@pytest.fixture(scope="module")
def tools(operations: dict[str, Operation]) -> dict[str, Tool]:
    return {name: operation.tool for name, operation in operations.items()}
