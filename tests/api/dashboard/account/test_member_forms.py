"""Members on the page of the account: added, changed, and removed after a confirmation."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token, hidden_field

HOSTILE = "<script>alert(1)</script>"


def members_of(customer: Customer) -> list[dict[str, Any]]:
    members: list[dict[str, Any]] = customer.get("/account/members").json()["data"]
    return members


def add(browser: TestClient, **typed: str) -> Any:
    page = browser.get("/account")
    hidden = {"form_token": form_token(page), "submission": hidden_field(page, "submission")}
    sent = {"name": "Ada", "email_address": "ada@acme.example", "role": "admin", **hidden, **typed}
    return browser.post("/account/members", data=sent)


def test_a_member_is_added_changed_and_removed(
    customer: Customer, browser: TestClient, sign_in: SignIn
) -> None:
    added = add(browser)
    assert (added.status_code, added.headers["location"]) == (303, "/account")
    ada = members_of(customer)[1]
    page = browser.get("/account")
    assert "ada@acme.example" in page.text
    key = {"form_token": form_token(page), "name": "Ada's", "scopes": list(SCOPES), "member_id": ada["id"]}
    token = browser.post("/account/keys", data=key).text.partition("<code>svc_")[2].partition("<")[0]
    hers = sign_in(f"svc_{token}")
    assert 'action="/account/members"' in hers.get("/account").text
    path = f"/account/members/{ada['id']}"
    typed = {"form_token": form_token(browser.get(path)), "name": "Ada L.", "role": "member"}
    assert browser.post(path, data=typed).status_code == 303
    assert members_of(customer)[1] == {**ada, "name": "Ada L.", "role": "member"}
    assert 'action="/account/members"' not in hers.get("/account").text
    asked = browser.get(f"{path}/remove")
    assert "Ada&#39;s" in asked.text
    assert len(members_of(customer)) == 2
    assert browser.post(f"{path}/remove", data={"form_token": form_token(asked)}).status_code == 303
    assert len(members_of(customer)) == 1
    assert hers.get("/account").headers["location"].startswith("/sign-in")


def test_a_form_sent_twice_adds_once(customer: Customer, browser: TestClient) -> None:
    page = browser.get("/account")
    hidden = {"form_token": form_token(page), "submission": hidden_field(page, "submission")}
    sent = {"name": "Ada", "email_address": "ada@acme.example", "role": "admin", **hidden}
    assert [browser.post("/account/members", data=sent).status_code for _ in range(2)] == [303, 303]
    assert len(members_of(customer)) == 2


def test_what_is_wrong_with_a_member_is_said_and_kept(customer: Customer, browser: TestClient) -> None:
    refused = add(browser, name=HOSTILE, email_address="nobody", role="king")
    assert refused.status_code == 422
    for field in ("email_address", "role"):
        assert f'id="problem-member-{field}"' in refused.text
    assert HOSTILE not in refused.text
    assert 'value="&lt;script&gt;' in refused.text
    assert len(members_of(customer)) == 1


def test_a_name_is_never_markup(customer: Customer, browser: TestClient) -> None:
    assert add(browser, name=HOSTILE).status_code == 303
    path = f"/account/members/{members_of(customer)[1]['id']}"
    for page in ("/account", path, f"{path}/remove"):
        text = browser.get(page).text
        assert "&lt;script&gt;alert" in text
        assert HOSTILE not in text


def test_the_only_owner_is_told_to_stay(customer: Customer, browser: TestClient) -> None:
    path = f"/account/members/{members_of(customer)[0]['id']}"
    typed = {"form_token": form_token(browser.get(path)), "name": "Owner", "role": "member"}
    refused = browser.post(path, data=typed)
    assert refused.status_code == 422
    assert "only owner" in refused.text
    refused = browser.post(f"{path}/remove", data={"form_token": typed["form_token"]})
    assert refused.status_code == 422
    assert "only owner" in refused.text
    assert [one["role"] for one in members_of(customer)] == ["owner"]


@pytest.mark.parametrize("step", ["", "/remove"])
def test_a_key_without_the_scope_manages_no_members(step: str, customer: Customer, sign_in: SignIn) -> None:
    reader = sign_in(customer.with_key("account:read").token)
    page = reader.get("/account")
    assert 'action="/account/members"' not in page.text
    assert "/remove" not in page.text
    assert add(reader).status_code == 403
    path = f"/account/members/{members_of(customer)[0]['id']}{step}"
    assert reader.get(path).status_code == 403
    data = {"form_token": form_token(page), "name": "Mine", "role": "admin"}
    assert reader.post(path, data=data).status_code == 403
    assert [one["name"] for one in members_of(customer)] == ["owner"]


def test_nothing_is_done_without_the_token_of_the_session(customer: Customer, browser: TestClient) -> None:
    path = f"/account/members/{members_of(customer)[0]['id']}"
    for address in ("/account/members", path, f"{path}/remove"):
        data = {"form_token": "0" * 64, "name": "X", "email_address": "x@acme.example", "role": "member"}
        assert browser.post(address, data=data).status_code == 403
    assert [one["name"] for one in members_of(customer)] == ["owner"]


def test_an_unknown_member_is_not_found(browser: TestClient, customer: Customer) -> None:
    for step in ("", "/remove"):
        page = browser.get(f"/account/members/none{step}")
        assert page.status_code == 404
        data = {"form_token": form_token(browser.get("/account")), "name": "X", "role": "member"}
        assert browser.post(f"/account/members/none{step}", data=data).status_code == 404
