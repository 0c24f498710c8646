"""A service on a real port."""

from collections.abc import Callable, Iterator
from typing import cast

import httpx2
import pytest
from fastapi import FastAPI

from api.app import create_app
from api.services import Services
from pipeline.settings import Settings
from tests.api.serving import served


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory, new_catalog_url: Callable[[], str | None]) -> FastAPI:
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("store"), catalog_url=new_catalog_url(), fresh_read_seconds=60
    )
    return create_app(settings)


@pytest.fixture(scope="session")
def client(app: FastAPI) -> Iterator[httpx2.Client]:
    with served(app) as opened:
        yield opened


@pytest.fixture(scope="session")
def services(app: FastAPI, client: httpx2.Client) -> Services:
    return cast("Services", app.state.services)
