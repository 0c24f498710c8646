"""The switch of projects: the same page elsewhere, of the projects that the key reaches."""

import re

import pytest
from fastapi.testclient import TestClient

from api.dashboard.project_switch import address_in
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn


@pytest.mark.parametrize(
    ("page", "query", "address"),
    [
        ("/projects/a", {}, "/projects/b"),
        ("/projects/a", {"status": "ended", "sort": "name", "owner": "mem_1", "page": "2"}, None),
        ("/projects/a/programme", {"x": "y"}, "/projects/b/programme"),
        ("/projects/a/installation", {}, "/projects/b/installation"),
        ("/projects/a/experiments/new", {}, "/projects/b/experiments/new"),
        # An experiment is of one project.
        ("/projects/a/experiments/exp_1", {"status": "x"}, "/projects/b"),
        ("/projects/a/compare", {"experiment": "exp_1"}, "/projects/b"),
        ("/account", {"status": "ended"}, "/projects/b"),
        ("/", {}, "/projects/b"),
    ],
)
def test_the_page_stays_where_the_other_project_has_it(
    page: str, query: dict[str, str], address: str | None
) -> None:
    assert address_in("b", page, query) == (address or "/projects/b?status=ended&sort=name")
    assert address_in("b/c", "/", {}) == "/projects/b%2Fc"


def others(page: str) -> dict[str, str]:
    """The names that the switch offers, with their addresses."""
    menu = page.partition('class="switch"')[2].partition("</details>")[0]
    return {name: address for address, name in re.findall(r'<li><a href="([^"]+)">([^<]+)</a>', menu)}


def test_the_switch_has_the_projects_that_the_key_reaches(
    customer: Customer, browser: TestClient, sign_in: SignIn
) -> None:
    first = customer.a_project(name="Shop")
    assert '<p class="switch">Shop</p>' in browser.get(first).text
    second, third = customer.a_project(name="Blog <b>"), customer.a_project(name="apps")
    page = browser.get(f"{first}/programme").text
    assert list(others(page)) == ["apps", "Blog &lt;b&gt;"]
    assert others(page)["apps"] == f"{third}/programme"
    assert browser.get(others(page)["apps"]).status_code == 200
    assert list(others(browser.get("/account").text)) == ["apps", "Blog &lt;b&gt;", "Shop"]
    # Of a page with an error too, and of an account of others nothing.
    assert others(browser.get(f"{second}?sort=salt").text)["Shop"] == f"{first}?sort=salt"
    ids = tuple(one.rpartition("/")[2] for one in (first, second))
    some = sign_in(customer.with_key(project_ids=ids).token)
    assert list(others(some.get(first).text)) == ["Blog &lt;b&gt;"]
    none = sign_in(customer.with_key("account:read").token)
    assert 'class="switch"' not in none.get("/account").text
