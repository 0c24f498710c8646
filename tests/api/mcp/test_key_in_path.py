import http.client
import json
import logging
from contextlib import closing
from urllib.parse import quote

import pytest

from api.services import Services
from tests.api.broken_catalog import a_catalog_without_projects
from tests.api.customers import Customer
from tests.api.mcp.assistants import HEADERS, LIST_TOOLS
from tests.api.request_bodies import error_of

LIST_PROJECTS = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "list_projects", "arguments": {}},
}


def answered(
    customer: Customer, path: str, message: object = LIST_TOOLS, method: str = "POST", **headers: str
) -> str:
    """Return the whole answer with its headers, by a client that logs nothing."""
    url = customer.client.base_url
    connection = http.client.HTTPConnection(url.host, url.port, timeout=30)
    sent = {**HEADERS, "Content-Type": "application/json", **headers}
    connection.request(method, path, json.dumps(message), sent)
    with closing(connection), connection.getresponse() as answer:
        return f"{answer.status}\n{answer.headers}\n{answer.read().decode()}"


@pytest.mark.parametrize(
    "path",
    [
        "/mcp/{}/v2/mcp",
        "/mcp/{}/v2/mcp?trace=1",
        "/mcp/{}/v2/mcp/",
        "/mcp/{}/v1/mcp",
        "/mcp/{}",
        "/mcp/v2/{}/mcp",
        "//mcp/{}/v2/mcp",
        "/{}",
        "/api/v1/projects/{}",
        "/api/v1/projects?key={}",
        "/mcp/v2/mcp?key={}&page=2",
    ],
)
def test_no_key_is_ever_written_down(customer: Customer, caplog: pytest.LogCaptureFixture, path: str) -> None:
    secret = customer.token.rpartition("_")[2]
    caplog.set_level(logging.DEBUG)
    for token in (customer.token, customer.token[:-1], quote(customer.token).replace("_", "%5F")):
        for method in ("POST", "GET", "OPTIONS"):
            assert secret[:-1] not in answered(customer, path.format(token), method=method)
    assert "/mcp" in caplog.text or "/api" in caplog.text or "svc_" in caplog.text
    assert secret[:-1] not in caplog.text


def test_no_key_is_written_down_for_a_web_socket(
    customer: Customer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    assert answered(customer, f"/mcp/{customer.token}/v2/mcp", method="GET", **upgrade).startswith("405")
    assert "GET /mcp/v2/mcp" in caplog.text
    assert customer.token.rpartition("_")[2] not in caplog.text


def test_no_key_is_written_down_when_the_program_fails(
    customer: Customer, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = f"/mcp/{customer.token}/v2/mcp"
    with a_catalog_without_projects(services):
        answer = answered(customer, path, LIST_PROJECTS)
    assert "internal_error" in answer
    assert "Traceback" in caplog.text
    secret = customer.token.rpartition("_")[2]
    assert secret not in caplog.text
    assert secret not in answer


def test_the_access_log_tells_which_endpoint_was_used(
    customer: Customer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert answered(customer, f"/mcp/{customer.token}/v2/mcp").startswith("200")
    assert '"POST /mcp/v2/mcp HTTP/1.1" 200' in caplog.text


def test_a_key_in_a_wrong_address_is_named_by_its_public_part(customer: Customer) -> None:
    answer = customer.client.get(f"/mcp/{customer.token}/v3")
    message = error_of(answer, 404, "not_found")["message"]
    assert f"{customer.token.rpartition('_')[0]}_***" in message


def test_other_addresses_stay_as_they_are(customer: Customer, project: str) -> None:
    assert customer.call("GET", f"{project}?svc=1&note=svc_live").status_code == 200
