"""Tools offered to a key: those that the API does not forbid to it."""

from typing import Any

import pytest

from api.mcp.ship_answer import NAME, OPERATION
from api.mcp.tools import Operation
from api.services import Services
from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer
from tests.api.mcp.assistants import Assistant

MEMBER_CHANGES = {"create_member", "update_member", "delete_member"}


def open_to(customer: Customer, operations: dict[str, Operation]) -> set[str]:
    """The tools that the API leaves to a key."""
    left = set(operations) - refused(customer, operations)
    return left | ({NAME} if OPERATION in left else set())


def refused(customer: Customer, operations: dict[str, Operation]) -> set[str]:
    """The operations that the API forbids to a key, whatever it sends."""
    found = set()
    for name, operation in operations.items():
        path = operation.path.removeprefix("/api/v1").replace("{id}", "x").replace("{project_id}", "x")
        body: dict[str, Any] | None = {} if operation.has_body else None
        if customer.call(operation.method, path, json=body).status_code == 403:
            found.add(name)
    return found


@pytest.mark.anyio
@pytest.mark.parametrize("scope", SCOPES)
async def test_a_key_is_offered_what_the_api_does_not_forbid_it(
    customer: Customer, operations: dict[str, Operation], scope: str
) -> None:
    key = customer.with_key(scope)
    assert set(await Assistant(key).tools()) == open_to(key, operations)


@pytest.mark.anyio
async def test_a_restricted_key_is_offered_nothing_of_the_whole_account(
    customer: Customer, project: str, operations: dict[str, Operation]
) -> None:
    key = customer.with_key(project_ids=(project.rpartition("/")[2],))
    offered = set(await Assistant(key).tools())
    assert offered == open_to(key, operations)
    assert set(operations) - offered == {
        "create_project",
        "list_api_keys",
        "list_audit_entries",
        "revoke_api_key",
        *MEMBER_CHANGES,
    }


@pytest.mark.anyio
async def test_a_plain_member_is_offered_no_keys(
    customer: Customer, services: Services, operations: dict[str, Operation]
) -> None:
    member = services.catalog.members.add(customer.account.id, "mia@acme.example", "Mia", "member")
    _, token = services.catalog.keys.create(customer.account.id, member.id, "Mia's", SCOPES)
    key = Customer(customer.client, services, customer.account, token)
    offered = set(await Assistant(key).tools())
    assert offered == open_to(key, operations)
    assert set(operations) - offered == {
        *("list_api_keys", "list_audit_entries", "revoke_api_key"),
        *MEMBER_CHANGES,
    }
