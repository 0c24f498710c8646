"""Signing in and out: only a key begins a session, and a session is no key."""

import pytest
from fastapi.testclient import TestClient

from api.dashboard.sessions import COOKIE
from pipeline.clock import utc_now
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token


def test_a_key_begins_a_session_that_no_script_can_read(customer: Customer) -> None:
    answer = customer.client.post("/sign-in", data={"key": f" {customer.token} "}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert customer.token not in cookie
    assert "secure" not in cookie
    customer.client.cookies.clear()


@pytest.mark.parametrize("key", ["", "nonsense", "svc_live_0000000000000000_00", "<script>"])
def test_what_is_no_key_begins_none(customer: Customer, key: str) -> None:
    answer = customer.client.post("/sign-in", data={"key": key}, follow_redirects=False)
    assert answer.status_code == 401
    assert "no valid API key" in answer.text
    assert "set-cookie" not in answer.headers


def test_without_a_session_a_page_leads_to_the_sign_in_and_back(customer: Customer, project: str) -> None:
    answer = customer.client.get(f"{project}?status=running", follow_redirects=False)
    assert answer.status_code == 303
    wanted = answer.headers["location"]
    assert wanted == f"/sign-in?next={project}%3Fstatus%3Drunning"
    signed = customer.client.post(
        "/sign-in", data={"key": customer.token, "next": f"{project}?status=running"}, follow_redirects=False
    )
    assert signed.headers["location"] == f"{project}?status=running"
    customer.client.cookies.clear()


@pytest.mark.parametrize(
    "wanted", ["https://evil.example/", "//evil.example", "/\\evil.example", "evil", "/a\nb"]
)
def test_the_way_back_stays_on_this_service(customer: Customer, wanted: str) -> None:
    answer = customer.client.post(
        "/sign-in", data={"key": customer.token, "next": wanted}, follow_redirects=False
    )
    assert answer.headers["location"] == "/"
    customer.client.cookies.clear()


def test_signing_out_ends_the_session_for_every_copy_of_the_cookie(browser: TestClient) -> None:
    copied = browser.cookies[COOKIE]
    page = browser.get("/")
    assert page.status_code == 200
    assert browser.post("/sign-out", data={"form_token": form_token(page)}).headers["location"] == "/sign-in"
    other = TestClient(browser.app, follow_redirects=False, cookies={COOKIE: copied})
    assert other.get("/").status_code == 303


def test_a_new_sign_in_ends_the_session_before(customer: Customer, browser: TestClient) -> None:
    before = browser.cookies[COOKIE]
    browser.post("/sign-in", data={"key": customer.token})
    assert browser.cookies[COOKIE] != before
    other = TestClient(browser.app, follow_redirects=False, cookies={COOKIE: before})
    assert other.get("/").status_code == 303


def test_a_revoked_key_ends_its_sessions(customer: Customer, sign_in: SignIn) -> None:
    catalog = customer.services.catalog
    holder = catalog.members.accepted(customer.account.id)[0]
    key, token = catalog.keys.create(customer.account.id, holder.id, "Short", ["projects:read"])
    browser = sign_in(token)
    assert browser.get("/projects").status_code == 200
    catalog.keys.revoke(customer.account.id, key.id, now=utc_now())
    assert browser.get("/").headers["location"] == "/sign-in"
    assert browser.get("/sign-in").status_code == 200


def test_a_session_is_no_key_of_the_api_and_a_key_no_session(customer: Customer, browser: TestClient) -> None:
    assert browser.get("/api/v1/projects").status_code == 401
    headers = {"Authorization": f"Bearer {customer.token}"}
    answer = customer.client.get("/", headers=headers, follow_redirects=False)
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}],
)
def test_a_form_of_another_site_signs_nobody_in(customer: Customer, headers: dict[str, str]) -> None:
    answer = customer.client.post(
        "/sign-in", data={"key": customer.token}, headers=headers, follow_redirects=False
    )
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_behind_https_the_cookie_is_secure(customer: Customer) -> None:
    assert isinstance(customer.client, TestClient)
    browser = TestClient(customer.client.app, base_url="https://testserver", follow_redirects=False)
    assert "secure" in browser.post("/sign-in", data={"key": customer.token}).headers["set-cookie"].lower()


def test_a_look_at_a_link_does_not_use_it_up(customer: Customer) -> None:
    services = customer.services
    encrypted = services.cipher.encrypt(customer.token.encode())
    secret = services.catalog.sign_in_links.create(encrypted, now=utc_now())
    assert isinstance(customer.client, TestClient)
    browser = TestClient(customer.client.app, follow_redirects=False)
    looks = [browser.head(f"/sign-in/{one}") for one in (secret, "none")]
    assert [(one.status_code, "set-cookie" in one.headers) for one in looks] == [(200, False)] * 2
    answers = [browser.get(f"/sign-in/{secret}").status_code for _ in range(2)]
    assert answers == [303, 404]
