"""Encoded slashes are part of their segment, whatever the server made of them."""

import pytest

from tests.api.customers import Customer
from tests.api.request_bodies import error_of


@pytest.mark.parametrize("slash", ["%2F", "%2f"])
def test_an_encoded_slash_separates_nothing(customer: Customer, project: str, slash: str) -> None:
    name = project.rpartition("/")[2]
    assert customer.get(f"/projects/{name}/stats").status_code == 200
    for path in (f"/projects/{name}{slash}stats", f"/projects{slash}{name}", f"/projects/{name}{slash}"):
        message = error_of(customer.get(path), 404, "not_found")["message"]
        assert name in message


def test_other_characters_are_decoded_beside_it(customer: Customer) -> None:
    message = error_of(customer.get("/projects/a%20b%2Fc%C3%A4"), 404, "not_found")["message"]
    assert "a b%2Fc\u00e4" in message


def test_a_key_is_not_taken_out_of_an_encoded_path(customer: Customer) -> None:
    answer = customer.client.post(f"/mcp/{customer.token}%2Fv2%2Fmcp", json={})
    message = error_of(answer, 404, "not_found")["message"]
    assert customer.token.rpartition("_")[2] not in message
