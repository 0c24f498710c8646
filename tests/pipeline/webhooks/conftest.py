"""A service that tells an endpoint of this machine."""

from collections.abc import Iterator

import pytest

from engine.design.project import Project
from pipeline.clock import utc_now
from tests.pipeline.restartable_service import RestartableService
from tests.pipeline.webhooks.receiving_endpoint import LOOPBACK, Endpoint, an_endpoint


@pytest.fixture(autouse=True)
def _this_machine_is_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUELIFT_WEBHOOK_NETWORKS", LOOPBACK)


@pytest.fixture
def service(service: RestartableService) -> RestartableService:
    # Messages are written at the time of the machine.
    service.now = utc_now()
    return service


@pytest.fixture
def project(service: RestartableService) -> Project:
    return service.store.add_project()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with an_endpoint() as opened:
        yield opened
