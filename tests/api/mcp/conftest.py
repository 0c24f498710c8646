"""A service on a real port, so that customers and assistants speak HTTP to it."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI

from api.app import create_app
from api.parts import Parts
from pipeline.settings import Settings
from tests.api.customers import Customer
from tests.api.mcp.assistants import Assistant


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, new_catalog_url: Callable[[], str | None]) -> FastAPI:
    return create_app(Settings(data_dir=tmp_path_factory.mktemp("store"), catalog_url=new_catalog_url()))


@pytest.fixture(scope="session")
def client(app: FastAPI) -> Iterator[httpx2.Client]:
    # An access log is what most services keep; here the tests look for keys in it.
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=True, ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()
    with httpx2.Client(base_url=f"http://{host}:{port}", timeout=30) as opened:
        yield opened
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def parts(app: FastAPI, client: httpx2.Client) -> Parts:
    return cast("Parts", app.state.parts)


@pytest.fixture
def assistant(customer: Customer) -> Assistant:
    return Assistant(customer)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
