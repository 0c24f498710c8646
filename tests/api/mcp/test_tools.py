from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp_types import Tool

from api.mcp.guidance import WHEN
from api.mcp.ship_answer import NAME
from api.mcp.tools import JOINED, Operation
from tests import contract
from tests.api.mcp.assistants import Assistant


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
    links = {"list_account_share_links", "revoke_account_share_links"}
    sums = {"get_sums", "hand_in_sums"}
    webhooks = {name for name in described if "webhook" in name or "channel" in name}
    assert described.keys() - files - operations.keys() == {
        "create_api_key",
        *sums,
        *links,
        *webhooks,
        *JOINED,
    }
    assert len(webhooks) == 15
    assert operations.keys() <= described.keys() - files


def test_schemas_are_valid_and_stand_alone(tools: dict[str, Tool]) -> None:
    assert len(tools) > 30
    for tool in tools.values():
        schema = tool.input_schema
        Draft202012Validator.check_schema(schema)
        # Some assistants take no tool whose arguments are a union.
        assert schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
        assert "#/components" not in str(schema)


def test_every_tool_says_what_it_does(tools: dict[str, Tool]) -> None:
    assert len(tools) > 30
    for tool in tools.values():
        assert tool.description
        assert tool.description.endswith(".")


def test_arguments_are_path_query_and_body_side_by_side(tools: dict[str, Tool]) -> None:
    found_by = {
        "status",
        "search",
        "tag",
        "owner",
        "verdict",
        "sort",
        "since",
        "page",
        "per_page",
        "holdouts",
        "groups",
        "group_id",
    }
    assert set(properties(tools["list_experiments"])) == {"project_id", *found_by}
    update = tools["update_experiment"]
    assert {"project_id", "experiment_id", "variants", "idempotency_key"} <= set(properties(update))
    # It takes a holdout as well.
    assert set(update.input_schema["required"]) == {"project_id"}
    assert set(tools["start_experiment"].input_schema["required"]) == {"project_id", "experiment_id"}
    assert set(tools["create_project"].input_schema["required"]) == {"name", "url"}


def test_ids_have_one_name_in_all_tools(operations: dict[str, Operation]) -> None:
    named: dict[str, set[str]] = {}
    for operation in operations.values():
        for argument, (location, _) in operation.locations.items():
            if location == "path":
                named.setdefault(argument, set()).add(operation.tool.name)
    assert set(named) == {
        *("project_id", "experiment_id", "metric_id", "run_id", "api_key_id", "member_id", "visitor_id")
    }
    assert {"get_project", "rotate_sdk_key", "get_results", "list_runs"} <= named["project_id"]
    assert {"get_experiment", "start_experiment", "get_results"} <= named["experiment_id"]


def test_every_tool_says_when_to_use_it(operations: dict[str, Operation]) -> None:
    assert set(WHEN) == {*operations, NAME}
    for name, operation in operations.items():
        assert WHEN[name] in str(operation.tool.description)


def test_a_change_names_the_fields_and_leaves_their_description_to_the_creation(
    tools: dict[str, Tool],
) -> None:
    update, create = tools["update_experiment"], tools["create_experiment"]
    assert "Takes the fields of create_experiment" in str(update.description)
    assert {"variants", "goals", "statistics"} <= set(properties(update)) & set(properties(create))
    assert "description" in properties(create)["url"]
    assert "description" not in properties(update)["url"]


@pytest.mark.anyio
async def test_the_whole_list_is_small_enough_for_a_context(assistant: Assistant) -> None:
    async with assistant.connected() as client:
        listed = await client.list_tools()
    assert NAME in {tool.name for tool in listed.tools}
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) < 60_000


def test_parameters_take_one_value_each(operations: dict[str, Operation]) -> None:
    named = [(operation.tool, name) for operation in operations.values() for name in operation.locations]
    assert len(named) > len(operations)
    assert not any("array" in str(properties(tool)[name]) for tool, name in named)


def test_no_tool_asks_for_a_revision_which_its_answers_do_not_tell(
    client: httpx2.Client, operations: dict[str, Operation]
) -> None:
    assert "If-Match" in str(client.get("/openapi.json").json())
    assert not any("if_match" in operation.locations for operation in operations.values())


def test_writes_and_only_writes_take_an_idempotency_key(operations: dict[str, Operation]) -> None:
    # An event has an id of its own, and an assignment stays as it is.
    own = {"track_events", "track_conversions", "assign_visitor"}
    taking = {name for name, one in operations.items() if "idempotency_key" in properties(one.tool)}
    assert taking == {name for name, one in operations.items() if one.method != "GET"} - own


def test_no_argument_means_two_things(client: httpx2.Client, operations: dict[str, Operation]) -> None:
    document = client.get("/openapi.json").json()
    assert any(operation.has_body for operation in operations.values())
    for operation in operations.values():
        described = document["paths"][operation.path][operation.method.lower()]
        body = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
        members = document["components"]["schemas"].get(name, {}).get("properties", {})
        assert not operation.locations.keys() & members.keys(), operation.tool.name
        assert bool(members) == operation.has_body
