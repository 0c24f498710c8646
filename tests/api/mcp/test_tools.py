from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator
from mcp_types import Tool

from api.mcp.annotations import BY_OPERATION
from api.mcp.tools import Operation, operations_of
from api.services import Services
from pipeline.store.catalog.keys import SCOPES
from tests import contract
from tests.api.customers import Customer
from tests.api.mcp.assistants import Assistant


@pytest.fixture(scope="module")
def operations(app: FastAPI) -> dict[str, Operation]:
    return operations_of(app)


@pytest.fixture(scope="module")
def tools(operations: dict[str, Operation]) -> dict[str, Tool]:
    return {name: operation.tool for name, operation in operations.items()}


def properties(tool: Tool) -> dict[str, Any]:
    found: dict[str, Any] = tool.input_schema["properties"]
    return found


def test_every_operation_but_key_creation_is_a_tool(operations: dict[str, Operation]) -> None:
    offered = {f"{operation.method} {operation.path}" for operation in operations.values()}
    assert set(contract.operations()) - offered == {"GET /openapi.json", "POST /api/v1/account/api_keys"}


def test_tools_are_the_documented_operations_that_take_a_key_and_answer_no_file(
    client: httpx2.Client, operations: dict[str, Operation]
) -> None:
    described = {
        operation["operationId"]: operation["responses"].get("200", {}).get("content", {})
        for path, methods in client.get("/openapi.json").json()["paths"].items()
        for operation in methods.values()
        if path.startswith("/api/v1/") and "security" in operation
    }
    files = {name for name, content in described.items() if set(content) - {"application/json"}}
    assert described.keys() - files - operations.keys() == {"create_api_key"}
    assert operations.keys() <= described.keys() - files


def test_schemas_are_valid_and_stand_alone(tools: dict[str, Tool]) -> None:
    for tool in tools.values():
        for schema in (tool.input_schema, tool.output_schema):
            if schema is not None:
                Draft202012Validator.check_schema(schema)
                # Some assistants take no tool whose arguments are a union.
                assert schema["type"] == "object"
                assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
                assert "#/components" not in str(schema)


def test_every_tool_says_what_it_does(tools: dict[str, Tool]) -> None:
    for tool in tools.values():
        assert tool.title
        assert tool.description
        assert tool.description.endswith(".")


def test_what_answers_with_json_has_an_output_schema(tools: dict[str, Tool]) -> None:
    silent = {name for name, tool in tools.items() if tool.output_schema is None}
    assert silent == {"delete_project", "delete_experiment"}


def test_arguments_are_path_query_and_body_side_by_side(tools: dict[str, Tool]) -> None:
    assert set(properties(tools["list_experiments"])) == {"project_id", "status", "page", "per_page"}
    update = tools["update_experiment"]
    assert {"project_id", "id", "variants", "idempotency_key"} <= set(properties(update))
    assert set(update.input_schema["required"]) == {"project_id", "id"}
    assert update.input_schema["additionalProperties"] is False
    assert set(tools["create_project"].input_schema["required"]) == {"name", "url"}


def test_parameters_take_one_value_each(operations: dict[str, Operation]) -> None:
    for operation in operations.values():
        for name in operation.locations:
            assert "array" not in str(properties(operation.tool)[name])


def test_writes_and_only_writes_take_an_idempotency_key(operations: dict[str, Operation]) -> None:
    # An event has an id of its own, and an assignment stays as it is.
    own = {"track_events", "track_conversions", "assign_visitor"}
    taking = {name for name, one in operations.items() if "idempotency_key" in properties(one.tool)}
    assert taking == {name for name, one in operations.items() if one.method != "GET"} - own


def test_no_argument_means_two_things(client: httpx2.Client, operations: dict[str, Operation]) -> None:
    document = client.get("/openapi.json").json()
    for operation in operations.values():
        described = document["paths"][operation.path][operation.method.lower()]
        body = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
        members = document["components"]["schemas"].get(name, {}).get("properties", {})
        assert not operation.locations.keys() & members.keys(), operation.tool.name
        assert bool(members) == operation.has_body


def test_hints_tell_reading_from_adding_and_taking_away(tools: dict[str, Tool]) -> None:
    def hints(name: str) -> tuple[bool | None, bool | None, bool | None]:
        told = tools[name].annotations
        assert told is not None
        return told.read_only_hint, told.destructive_hint, told.idempotent_hint

    assert hints("get_results") == (True, False, True)
    assert hints("create_experiment") == (False, False, False)
    assert hints("update_experiment") == (False, True, True)
    assert hints("complete_experiment") == (False, True, True)
    assert hints("delete_project") == (False, True, True)
    assert hints("revoke_api_key") == (False, True, True)


def test_hints_are_of_operations_that_exist(tools: dict[str, Tool]) -> None:
    assert set(BY_OPERATION) <= set(tools)


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
    assert set(await Assistant(key).tools()) == set(operations) - refused(key, operations)


@pytest.mark.anyio
async def test_a_restricted_key_is_offered_nothing_of_the_whole_account(
    customer: Customer, project: str, operations: dict[str, Operation]
) -> None:
    key = customer.with_key(project_ids=(project.rpartition("/")[2],))
    offered = set(await Assistant(key).tools())
    assert offered == set(operations) - refused(key, operations)
    assert set(operations) - offered == {"create_project", "list_api_keys", "revoke_api_key"}


@pytest.mark.anyio
async def test_a_plain_member_is_offered_no_keys(
    customer: Customer, services: Services, operations: dict[str, Operation]
) -> None:
    member = services.catalog.members.add(customer.account.id, "mia@acme.example", "Mia", "member")
    _, token = services.catalog.keys.create(customer.account.id, member.id, "Mia's", SCOPES)
    key = Customer(customer.client, services, customer.account, token)
    offered = set(await Assistant(key).tools())
    assert offered == set(operations) - refused(key, operations)
    assert set(operations) - offered == {"list_api_keys", "revoke_api_key"}
