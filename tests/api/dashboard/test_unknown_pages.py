"""An address without a page: browsers get a page, programs the error of the API."""

import pytest
from fastapi.testclient import TestClient

from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.request_bodies import error_of

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/nowhere", "/projects/a/b/c/d", "/%00", "/api/v2/projects"])
def test_a_browser_gets_a_page_and_a_program_the_error(client: TestClient, path: str) -> None:
    page = client.get(path, headers=BROWSER)
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no page at this address" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert client.head(path, headers=BROWSER).content == b""
    error_of(client.get(path), 404, "not_found")
    error_of(client.post(path, headers=BROWSER), 404, "not_found")


def test_the_api_answers_browsers_by_its_own_error(customer: Customer, client: TestClient) -> None:
    error_of(client.get("/api/v1/nowhere", headers=BROWSER), 401, "invalid_api_key")
    assert customer.get("/nowhere").json()["error"]["code"] == "not_found"


def test_a_page_that_exists_is_none_of_these(customer: Customer, sign_in: SignIn) -> None:
    browser = sign_in(customer.token)
    assert browser.get("/account", headers=BROWSER).status_code == 200
    assert "Sign out" in browser.get("/nowhere", headers=BROWSER).text
