"""Static files: kept for ever at the address of their content, and nothing beside them."""

import pytest
from fastapi.testclient import TestClient

from api.dashboard.static_files import address_of
from tests.api.customers import Customer


@pytest.mark.parametrize("name", ["dashboard.css", "results.js"])
def test_a_file_is_kept_for_ever_at_its_address_and_found_at_an_old_one(
    name: str, customer: Customer
) -> None:
    answer = customer.client.get(address_of(name))
    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    old = customer.client.get(f"/static/0000/{name}")
    assert old.text == answer.text
    assert old.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", ["none.css", "..%2Froutes.py", "__init__.py", "../templates/base.html"])
def test_nothing_else_is_served(name: str, customer: Customer) -> None:
    assert isinstance(customer.client, TestClient)
    assert customer.client.get(f"/static/0000/{name}").status_code == 404
