"""Pages of the account: keys are created and revoked, and a token is shown once."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token

TOKEN = re.compile(r"svc_live_[0-9a-f]{16}_[0-9a-f]{64}")


def keys_of(customer: Customer) -> list[dict[str, Any]]:
    keys: list[dict[str, Any]] = customer.get("/account/api_keys").json()["data"]
    return keys


def test_a_key_is_created_shown_once_used_and_revoked(
    customer: Customer, project: str, browser: TestClient, sign_in: SignIn
) -> None:
    page = browser.get("/account")
    project_id = project.rpartition("/")[2]
    typed = {"name": "Warehouse", "scopes": ["projects:read"], "project_ids": [project_id]}
    created = browser.post("/account/keys", data={"form_token": form_token(page), **typed})
    (token,) = set(TOKEN.findall(created.text))
    assert created.headers["cache-control"] == "no-store"
    assert token not in browser.get("/account").text
    of_key = sign_in(token)
    assert project_id in of_key.get("/projects").text
    key = next(one for one in keys_of(customer) if one["name"] == "Warehouse")
    assert (key["scopes"], key["project_ids"]) == (["projects:read"], [project_id])
    path = f"/account/keys/{key['id']}/revoke"
    assert browser.get(path).status_code == 200
    assert of_key.get("/projects").status_code == 200
    revoked = browser.post(path, data={"form_token": form_token(page)})
    assert (revoked.status_code, revoked.headers["location"]) == (303, "/account")
    assert of_key.get("/").headers["location"] == "/sign-in"


def test_what_is_wrong_with_a_key_is_said_and_kept(browser: TestClient) -> None:
    token = form_token(browser.get("/account"))
    data = {"form_token": token, "name": "Typed", "scopes": ["projects:read", "nonsense"]}
    refused = browser.post("/account/keys", data=data)
    assert refused.status_code == 422
    assert 'class="problem" id="problem-scopes"' in refused.text
    assert 'value="Typed"' in refused.text
    assert 'value="projects:read" checked' in refused.text
    assert TOKEN.search(refused.text) is None


@pytest.mark.parametrize("scopes", [("account:read",), ("account:read", "projects:read")])
def test_a_key_without_the_scope_manages_no_keys(
    scopes: tuple[str, ...], customer: Customer, sign_in: SignIn
) -> None:
    reader = sign_in(customer.with_key(*scopes).token)
    page = reader.get("/account")
    assert page.status_code == 200
    assert "api_keys:write" in page.text
    assert 'action="/account/keys"' not in page.text
    data = {"form_token": form_token(page), "name": "More", "scopes": list(scopes)}
    assert reader.post("/account/keys", data=data).status_code == 403
    key = keys_of(customer)[0]["id"]
    assert reader.get(f"/account/keys/{key}/revoke").status_code == 403
    assert reader.post(f"/account/keys/{key}/revoke", data=data).status_code == 403


def test_no_key_is_made_or_revoked_without_the_token_of_the_session(
    customer: Customer, browser: TestClient
) -> None:
    before = keys_of(customer)
    data = {"form_token": "0" * 64, "name": "Forged", "scopes": ["projects:read"]}
    assert browser.post("/account/keys", data=data).status_code == 403
    assert browser.post(f"/account/keys/{before[0]['id']}/revoke", data=data).status_code == 403
    assert [(one["id"], one["revoked_at"]) for one in keys_of(customer)] == [
        (one["id"], one["revoked_at"]) for one in before
    ]


def test_an_unknown_key_is_not_found(browser: TestClient) -> None:
    assert browser.get("/account/keys/none/revoke").status_code == 404
    token = form_token(browser.get("/account"))
    assert browser.post("/account/keys/a%2Fb/revoke", data={"form_token": token}).status_code == 404
