"""The reference of the API: served whole by the service, for anybody."""

import re

from tests.api.customers import Customer


def test_the_page_and_all_it_loads_come_from_the_service(customer: Customer) -> None:
    page = customer.client.get("/docs")
    assert page.status_code == 200
    loaded = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert len(loaded) == 5
    for address in loaded:
        assert customer.client.get(address).status_code == 200, address
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page.text)


def test_it_shows_the_document_of_the_service(customer: Customer) -> None:
    assert "/openapi.json" in customer.client.get("/static/0000/reference.js").text
    assert customer.client.get("/openapi.json").json()["paths"]
