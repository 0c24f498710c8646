import json
from typing import Any

import httpx2
import pytest

from api.services import Services
from tests.api.customers import Customer
from tests.api.mcp.assistants import HEADERS, LIST_TOOLS
from tests.api.request_bodies import error_of

SENT = {**HEADERS, "Content-Type": "application/json"}


def asked(customer: Customer, key: str, message: Any = LIST_TOOLS) -> httpx2.Response:
    return customer.client.post(f"/mcp/{key}/v2/mcp", json=message, headers=HEADERS)


def test_a_key_that_is_not_known_is_refused(customer: Customer) -> None:
    for key in (
        "x",
        "null",
        customer.token + "0",
        customer.token.replace("live", "test"),
        "%E9%FF",
        "%0D%0A",
    ):
        answer = asked(customer, key)
        error_of(answer, 401, "invalid_api_key")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_no_key_at_all_is_refused(customer: Customer) -> None:
    error_of(customer.client.post("/mcp/v2/mcp", json=LIST_TOOLS, headers=HEADERS), 401, "invalid_api_key")


def test_the_key_in_the_address_is_the_one_that_counts(customer: Customer) -> None:
    headers = {**HEADERS, "Authorization": f"Bearer {customer.token}"}
    answer = customer.client.post("/mcp/unknown/v2/mcp", json=LIST_TOOLS, headers=headers)
    error_of(answer, 401, "invalid_api_key")


def test_a_revoked_key_stops_at_once(customer: Customer, services: Services) -> None:
    assert asked(customer, customer.token).status_code == 200
    key = services.catalog.keys.of_account(customer.account.id)[0]
    services.catalog.keys.revoke(customer.account.id, key.id, now=key.created_at)
    error_of(asked(customer, customer.token), 401, "invalid_api_key")


def test_an_account_that_is_not_served_is_refused(customer: Customer, services: Services) -> None:
    services.catalog.accounts.update(customer.account.id, subscription_status="canceled")
    error_of(asked(customer, customer.token), 402, "account_inactive")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_posts_are_taken(customer: Customer, method: str) -> None:
    answer = customer.client.request(method, f"/mcp/{customer.token}/v2/mcp", headers=HEADERS)
    error_of(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == "POST"


def test_what_is_no_message_is_told_so(customer: Customer) -> None:
    numbered = {"jsonrpc": "2.0", "id": 1}
    messages: list[Any] = [[], 1, {}, numbered, {**numbered, "method": "nothing"}]
    answers = [asked(customer, customer.token, message) for message in messages]
    assert [answer.status_code for answer in answers if answer.status_code >= 500] == []
    assert ["error" in answer.json() for answer in answers] == [True] * 5


def test_a_message_beyond_two_mebibytes_is_too_large(customer: Customer) -> None:
    message = {**LIST_TOOLS, "params": {"cursor": "x" * 2**21}}
    assert asked(customer, customer.token, message).status_code == 413


def test_a_message_holds_as_many_values_as_a_body_and_is_nested_as_deep(customer: Customer) -> None:
    def called(values: str) -> httpx2.Response:
        message = f'{{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {{"x": {values}}}}}'
        return customer.client.post(f"/mcp/{customer.token}/v2/mcp", content=message, headers=SENT)

    assert called("[" + "1," * (2**16 - 1) + "1]").status_code == 200
    error_of(called("[" + "1," * (2**16 + 200) + "1]"), 413, "payload_too_large")
    assert called("[" * 90 + "]" * 90).status_code == 200
    error_of(called("[" * 100 + "]" * 100), 400, "invalid_json")
    broken = error_of(called("["), 400, "invalid_json")
    assert broken["message"] == "the message is not JSON: it ends inside a string, a list or an object"


def test_an_answer_names_its_request(customer: Customer) -> None:
    answer = asked(customer, customer.token)
    assert answer.headers["X-Request-Id"].startswith("req_")
    assert json.loads(answer.text)["result"]["tools"]
