"""Requests generated from the OpenAPI document, valid and invalid, get only documented answers."""

from typing import Any

import httpx2
import pytest
import schemathesis
from schemathesis import Case
from schemathesis.core.parameters import ParameterLocation

from api.app import create_app
from api.services import Services
from pipeline.settings import Settings
from pipeline.store.catalog.ids import new_id
from tests.api.customers import Customer
from tests.examples import examples, is_many, seed_or

pytestmark = pytest.mark.slow
schemathesis.serializer.alias("application/vnd.apache.parquet", "application/octet-stream")
CONFIG = schemathesis.Config.from_dict(
    {
        "seed": seed_or(7),
        # Beside few examples, the boundary values of each schema would take minutes.
        "phases": {"coverage": {"enabled": is_many()}},
        # A key is given below; that one without it is refused is a check of its own.
        "generation": {"with-security-parameters": False},
        "checks": {
            # What no JSON schema can say (names that differ, exactly one control) is refused with 422,
            # a generated ETag, which is of no experiment, with 412.
            "positive_data_acceptance": {
                "expected-statuses": ["2xx", "401", "403", "404", "409", "412", "422"]
            },
            # 413 is what more than 500 events get.
            "negative_data_rejection": {
                "expected-statuses": ["400", "404", "405", "412", "413", "415", "422"]
            },
        },
    }
)
DESCRIPTION = schemathesis.openapi.from_dict(create_app(Settings()).openapi(), config=CONFIG)


@DESCRIPTION.parametrize()
@examples(1, 8, seconds=3)
def test_generated_request_is_answered_as_described(
    case: Case[Any], client: httpx2.Client, services: Services
) -> None:
    customer = a_tireless_customer(client, services)
    if is_sound(case, ParameterLocation.PATH):
        # Ids of things that exist: else every request would end at 404.
        case.path_parameters = {**case.path_parameters, **ids_for(case.path, customer)}
    headers = {"Authorization": f"Bearer {customer.token}"}
    case.call_and_validate(base_url=str(client.base_url), headers=headers)


def is_sound(case: Case[Any], location: ParameterLocation) -> bool:
    """Return whether that part of the request was generated as valid."""
    part = case.meta.components.get(location) if case.meta else None
    return part is None or part.mode.is_positive


def a_tireless_customer(client: httpx2.Client, services: Services) -> Customer:
    """A customer without limits."""
    account, _, token = services.catalog.accounts.create(new_id("tireless"), "owner@tireless.example")
    services.catalog.accounts.update(account.id, max_projects=10**6, rate_limit=10**6)
    return Customer(client, services, account, token)


def ids_for(path: str, customer: Customer) -> dict[str, str]:
    """Create the resources of a path, and return their ids."""
    if path.startswith("/api/v1/projects/"):
        project = customer.a_project()
        project_id = project.rpartition("/")[2]
        if "/experiments" not in path:
            return {"id": project_id}
        if "{id}" not in path:
            return {"project_id": project_id}
        experiment_id = customer.an_experiment(project).rpartition("/")[2]
        return {"project_id": project_id, "id": experiment_id}
    if "{id}" in path:
        customer.with_key()
        return {"id": customer.services.catalog.keys.of_account(customer.account.id)[0].id}
    return {}
