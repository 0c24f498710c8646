"""The check of a page answers with an address that opens it with a token, on the project's hosts alone."""

import html
import re
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi.testclient import TestClient

from api.services import Services
from pipeline.clock import utc_now
from pipeline.store.catalog.keys import SCOPES
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn, form_token

JSON = {"accept": "application/json"}
ORIGIN = {"origin": "http://testserver"}


def check(browser: TestClient, project: str, page: str, headers: dict[str, str] = JSON) -> httpx2.Response:
    token = form_token(browser.get(f"{project}/installation"))
    data = {"form_token": token, "page": page}
    return browser.post(f"{project}/installation/check", data=data, headers=headers)


def address_of(browser: TestClient, project: str, page: str) -> str | None:
    address: str | None = check(browser, project, page, JSON | ORIGIN).json()["address"]
    return address


def services_of(customer: Customer) -> Services:
    assert isinstance(customer.client, TestClient)
    services: Services = customer.client.app.state.services  # type: ignore[attr-defined] # any ASGI app
    return services


def test_the_address_has_a_token_of_the_signed_in_key(
    customer: Customer, project: str, browser: TestClient
) -> None:
    address = address_of(browser, project, "https://shop.example/cart?size=1#top")
    assert address is not None
    before, _, token = address.partition("truelift_debug=")
    assert before == "https://shop.example/cart?size=1#top&"
    grant = services_of(customer).debug_tokens.read(token, project.rpartition("/")[2], now=utc_now())
    assert grant is not None
    assert grant.dashboard == "http://testserver"
    assert grant.account_id == customer.account.id
    plain = address_of(browser, project, "https://shop.example")
    assert plain is not None
    assert plain.startswith("https://shop.example/#truelift_debug=")


@pytest.mark.parametrize(
    "page",
    [
        "",
        "cart",
        "https://evil.example/",
        "https://shop.example.evil.example/",
        "https://shop.example@evil.example/",
        # Browsers open what is before the backslash.
        "https://evil.example\\@shop.example/",
        "https:\\\\evil.example\\.shop.example",
        "javascript://shop.example/%0aalert(1)",
        "data:text/html,shop.example",
        "https://shop.example/" + "a" * 2048,
    ],
)
def test_no_page_but_the_projects_own_is_opened(project: str, browser: TestClient, page: str) -> None:
    answer = check(browser, project, page)
    assert answer.status_code == 422
    assert answer.json() == {
        "address": None,
        "problem": "Give the full address of a page on one of the project's hosts.",
    }


def test_without_scripts_the_page_has_a_link_or_the_problem(project: str, browser: TestClient) -> None:
    shown = check(browser, project, "https://shop.example/cart", ORIGIN)
    assert shown.status_code == 200
    (link,) = re.findall(
        r'<p id="opened"><a href="([^"]+)" target="_blank" rel="noopener noreferrer">', shown.text
    )
    assert urlsplit(html.unescape(link)).fragment.startswith("truelift_debug=")
    refused = check(browser, project, "https://evil.example/<b>", ORIGIN)
    assert refused.status_code == 422
    assert 'role="alert">Give the full address' in refused.text
    assert 'value="https://evil.example/&lt;b&gt;"' in refused.text
    assert '<p id="opened" hidden>' in refused.text


def test_the_form_has_the_page_that_a_bookmark_gives(project: str, browser: TestClient) -> None:
    page = browser.get(f"{project}/installation", params={"page": 'https://shop.example/"><b>'}).text
    assert 'value="https://shop.example/&#34;&gt;&lt;b&gt;"' in page
    bookmark = f"javascript:location.href='http://testserver{project}/installation?page='"
    assert bookmark in html.unescape(page)
    assert 'value="https://shop.example"' in browser.get(f"{project}/installation").text


def test_a_key_without_the_scope_gets_no_token(customer: Customer, project: str, sign_in: SignIn) -> None:
    reader = sign_in(customer.with_key(*set(SCOPES) - {"experiments:read"}).token)
    refused = check(reader, project, "https://shop.example/")
    assert refused.status_code == 403
    assert "truelift_debug=" not in refused.text
