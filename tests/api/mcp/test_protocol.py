"""The official client over HTTP, in every protocol version that it supports."""

from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from tests.api.mcp.assistants import Assistant
from tests.api.request_bodies import an_experiment_body

pytestmark = pytest.mark.anyio


async def returned(client: Client | ClientSession, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy", *MODERN_PROTOCOL_VERSIONS])
async def test_assistant_runs_a_whole_test(assistant: Assistant, mode: str) -> None:
    async with assistant.connected(mode) as client:
        project = (await returned(client, "create_project", name="Shop", url="https://shop.example"))["data"]
        draft = await returned(
            client, "create_experiment", project_id=project["id"], **an_experiment_body(name="Button")
        )
        named = {"project_id": project["id"], "id": draft["data"]["id"]}
        assert (await returned(client, "start_experiment", **named))["data"]["status"] == "running"
        results = await returned(client, "get_results", **named, device_type="mobile")
        assert results["data"]["decision_summary"]["recommendation"] == "insufficient_data"
        assert results["data"]["active_segment"] == {"device_type": "mobile"}
        assert (await returned(client, "complete_experiment", **named))["data"]["status"] == "completed"
        prompt = await client.get_prompt(
            "explain_result", {"project_id": project["id"], "experiment_id": draft["data"]["id"]}
        )
        assert draft["data"]["id"] in prompt.messages[0].content.text  # type: ignore[union-attr] # it is a text


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
async def test_every_version_with_a_handshake_is_spoken(assistant: Assistant, version: str) -> None:
    # The client itself only ever offers its latest.
    offer = types.InitializeRequestParams(
        protocol_version=version,
        capabilities=types.ClientCapabilities(),
        client_info=types.Implementation(name="old", version="1"),
    )
    async with streamable_http_client(assistant.address) as streams, ClientSession(*streams) as session:
        agreed = await session.send_request(types.InitializeRequest(params=offer), types.InitializeResult)
        assert agreed.protocol_version == version
        assert (agreed.server_info.name, agreed.server_info.version) == ("truelift", "1.0.0")
        session.adopt(agreed)
        await session.send_notification(types.InitializedNotification())
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert {"list_projects", "get_results"} <= tools
        result = await session.call_tool("list_projects", {})
        assert '"total":0' in result.content[0].text  # type: ignore[union-attr] # it is a text


async def test_a_version_from_the_future_is_offered_the_latest(assistant: Assistant) -> None:
    offer = {"protocolVersion": "2099-01-01", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    answer = assistant.customer.client.post(
        assistant.address,
        json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": offer},
        headers={"Accept": "application/json, text/event-stream"},
    )
    assert answer.json()["result"]["protocolVersion"] == LATEST_HANDSHAKE_VERSION
    # Nothing is remembered between requests, so any process can answer the next one.
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("host", ["tests.shop.example", "tests.shop.example:8443", "203.0.113.7"])
async def test_it_works_behind_any_host_name(assistant: Assistant, mode: str, host: str) -> None:
    async with httpx2.AsyncClient(headers={"Host": host}) as http:
        transport = streamable_http_client(assistant.address, http_client=http)
        async with Client(transport, mode=mode) as client:
            assert (await returned(client, "list_projects"))["data"] == []


async def test_a_client_that_sends_headers_needs_no_key_in_the_address(assistant: Assistant) -> None:
    customer = assistant.customer
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {customer.token}"}) as http:
        transport = streamable_http_client(f"{customer.client.base_url}/mcp/v2/mcp", http_client=http)
        async with Client(transport) as client:
            assert (await returned(client, "list_projects"))["data"] == []


async def test_an_unknown_tool_is_an_error_of_the_protocol(assistant: Assistant) -> None:
    async with assistant.connected() as client:
        with pytest.raises(Exception, match="there is no tool 'create_api_key'"):
            await client.call_tool("create_api_key", {"name": "More", "scopes": ["projects:read"]})
