"""Refused keys leave a trace: in the metrics, in the log, and in the audit trail of the key's account."""

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from starlette.requests import HTTPConnection

from api.app import create_app
from api.middleware.key_refusals import MOST_LINES, MOST_OF_ADDRESS, KeyRefusals
from api.operator.metrics import metrics_text
from pipeline.settings import Settings
from pipeline.store.catalog.keys import RefusedKey
from tests.api.customers import Customer, a_customer_of
from tests.api.mcp.assistants import HEADERS, LIST_TOOLS
from tests.api.request_bodies import error_of

UNKNOWN = "svc_live_0123456789abcdef_" + "0" * 64


@pytest.fixture
def watched(tmp_path: Any) -> Iterator[Customer]:
    """A customer of a service of its own, as its counts are of all requests."""
    settings = Settings(data_dir=tmp_path)
    with TestClient(create_app(settings), client=("127.0.0.1", 50_000)) as client:
        yield a_customer_of(client)


def wrong(customer: Customer) -> str:
    """The token of the customer's key with another secret."""
    return customer.token.rpartition("_")[0] + "_" + "0" * 64


def ask(customer: Customer, token: str, address: str = "192.0.2.7") -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": address}
    return customer.client.get("/api/v1/account", headers=headers)


def metric(customer: Customer, way: str, reason: str) -> float:
    text = metrics_text(customer.services, {}).decode()
    found = re.search(rf'truelift_refused_keys_total{{reason="{reason}",way="{way}"}} (\S+)', text)
    return float(found[1]) if found else 0.0


def refusals_told(customer: Customer) -> list[dict[str, Any]]:
    """The entries about refused keys, once they are written."""
    customer.services.catalog.refused_keys.write()
    entries = customer.get("/account/audit", per_page=100).json()["data"]
    return [one for one in entries if one["action"] == "refused"]


def test_wrong_keys_are_counted_logged_and_told_to_the_account(
    watched: Customer, caplog: pytest.LogCaptureFixture
) -> None:
    (key,) = watched.get("/account/api_keys").json()["data"]
    answers = [ask(watched, wrong(watched)) for _ in range(150)]
    for answer in answers:
        error_of(answer, 401, "invalid_api_key")
    assert [100, len(answers)] == [MOST_OF_ADDRESS, 150]
    assert ["Retry-After" in one.headers for one in answers] == [False] * 100 + [True] * 50
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    # Another address is not told to wait, and a valid key is served, whatever came from its address.
    assert "Retry-After" not in ask(watched, wrong(watched), "192.0.2.8").headers
    assert ask(watched, watched.token).status_code == 200
    assert metric(watched, "api", "wrong") == 151
    (entry,) = refusals_told(watched)
    assert (entry["subject_type"], entry["subject_id"], entry["actor"]) == (
        "api_key",
        key["id"],
        "unknown client",
    )
    assert entry["changes"] == {"refused": [None, 151], "reason": [None, "wrong"], "way": [None, "api"]}
    assert refusals_told(watched) == [entry]
    lines = [one.getMessage() for one in caplog.records if one.name == "api.middleware.key_refusals"]
    assert len(lines) == MOST_LINES + 1
    assert lines[0] == f"refused a key ({key['id']}) from 192.0.2.7, sent to api: wrong"
    assert "further are counted" in lines[-1]
    assert "0" * 64 not in caplog.text
    assert watched.token.rpartition("_")[2] not in caplog.text


def test_every_way_in_is_counted_by_its_reason(watched: Customer) -> None:
    client, catalog = watched.client, watched.services.catalog
    revoked = watched.with_key()
    key = catalog.keys.of_account(watched.account.id)[0]
    watched.post(f"/account/api_keys/{key.id}/revoke")
    event: dict[str, Any] = {"batch": []}
    client.get("/api/v1/account")
    ask(watched, UNKNOWN)
    client.post(f"/mcp/{wrong(watched)}/v2/mcp", json=LIST_TOOLS, headers=HEADERS)
    client.post("/api/v1/sdk/track", json=event, headers={"Authorization": f"Bearer {revoked.token}"})
    client.post("/api/v1/sdk/track", json=event, headers={"X-SDK-Key": "pk_none"})
    assert client.post("/sign-in", data={"key": wrong(watched)}).status_code == 401
    assert client.get("/sign-in/none").status_code == 404
    counted = {
        ("api", "missing"): 1,
        ("api", "unknown"): 1,
        ("mcp", "wrong"): 1,
        ("sdk", "revoked"): 1,
        ("public_key", "unknown"): 1,
        ("sign_in", "wrong"): 1,
        ("sign_in_link", "unknown"): 1,
    }
    assert watched.services.key_refusals.counted() == counted
    assert all(metric(watched, way, reason) == 1 for way, reason in counted)
    told = {(one["changes"]["way"][1], one["changes"]["reason"][1]) for one in refusals_told(watched)}
    assert told == {("mcp", "wrong"), ("sdk", "revoked"), ("sign_in", "wrong")}


def test_a_browser_with_a_revoked_key_is_signed_out_and_counts_nothing(watched: Customer) -> None:
    assert isinstance(watched.client, TestClient)
    browser = TestClient(watched.client.app, follow_redirects=False)
    browser.post("/sign-in", data={"key": watched.with_key().token})
    key = watched.services.catalog.keys.of_account(watched.account.id)[0]
    assert browser.get("/account").status_code == 200
    watched.post(f"/account/api_keys/{key.id}/revoke")
    assert [browser.get("/account").status_code for _ in range(3)] == [303] * 3
    assert watched.services.key_refusals.counted() == {}


def test_a_failed_sign_in_is_told_and_after_many_to_wait(watched: Customer) -> None:
    watched.services.catalog.accounts.update(watched.account.id, subscription_status="unpaid")
    assert watched.client.post("/sign-in", data={"key": watched.token}).status_code == 402
    watched.services.catalog.accounts.update(watched.account.id, subscription_status="active")
    (entry,) = refusals_told(watched)
    assert entry["changes"] == {"refused": [None, 1], "reason": [None, "inactive"], "way": [None, "sign_in"]}
    for _ in range(MOST_OF_ADDRESS):
        ask(watched, UNKNOWN)
    form = {"X-Forwarded-For": "192.0.2.7"}
    refused = watched.client.post("/sign-in", data={"key": UNKNOWN}, headers=form)
    assert (refused.status_code, int(refused.headers["Retry-After"]) >= 1) == (401, True)


def test_what_waits_is_written_at_the_end(tmp_path: Any) -> None:
    settings = Settings(data_dir=tmp_path)
    with TestClient(create_app(settings)) as client:
        customer = a_customer_of(client)
        error_of(ask(customer, wrong(customer)), 401, "invalid_api_key")
    with TestClient(create_app(settings)) as client:
        again = Customer(client, client.app.state.services, customer.account, customer.token)  # type: ignore[attr-defined] # typed as any ASGI app
        assert len(refusals_told(again)) == 1


def test_a_minute_begins_anew(watched: Customer) -> None:
    now = 0.0
    refusals = KeyRefusals(watched.services.catalog.refused_keys, lambda _: 1, lambda: now)
    request = HTTPConnection({"type": "http", "client": None})
    headers = [refusals.note(request, "api", RefusedKey("unknown")) for _ in range(MOST_OF_ADDRESS + 1)]
    assert [one for one in headers if one] == [{"Retry-After": "60"}]
    now = 60.0
    assert refusals.note(request, "api", RefusedKey("unknown")) == {}
