"""A service on a real port, with a running experiment, for its clients."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from api.app import create_app
from pipeline.settings import Settings
from tests.api.customers import Customer, a_customer
from tests.api.serving import served

PAGE = "https://shop.example/"


@dataclass(frozen=True, slots=True)
class RunningExperiment:
    """A running experiment of a project, and how a server of the shop reaches it."""

    customer: Customer
    path: str
    url: str
    project_id: str
    key: str
    test_key: str

    @property
    def connection(self) -> dict[str, Any]:
        """Arguments of a client, besides the address."""
        return {"api_key": self.key, "project_id": self.project_id}

    def counted(self, field: str = "visitors") -> dict[str, int]:
        """A number of each variant on the only goal, by the variant's name, as the results report it."""
        (variants,) = self.customer.data_of(f"{self.path}/results")["variants"].values()
        return {one["variant_name"]: one[field] for one in variants}


@pytest.fixture(scope="package")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Customer]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("store"), fresh_read_seconds=60)
    app = create_app(settings)
    with served(app, settings) as client:
        yield a_customer(client, app.state.services)


@pytest.fixture
def experiment(customer: Customer) -> RunningExperiment:
    return running_experiment(customer)


def running_experiment(customer: Customer, **fields: object) -> RunningExperiment:
    """Start an experiment with these fields in a project of its own."""
    project = customer.a_project()
    path = customer.an_experiment(project, **fields)
    started = customer.post(f"{path}/start").json()["data"]
    return RunningExperiment(
        customer=customer,
        path=path,
        url=str(customer.client.base_url),
        project_id=project.rpartition("/")[2],
        key=customer.with_key("sdk:write").token,
        test_key=started["test_key"],
    )
