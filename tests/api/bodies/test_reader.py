"""Limit of request bodies, with and without a declared length."""

import json
from collections.abc import Iterator

from api.bodies.reader import MAX_BODY_BYTES
from tests.api.customers import Customer
from tests.api.request_bodies import error_of


def test_body_beyond_a_mebibyte_is_too_large(customer: Customer) -> None:
    body = json.dumps({"name": "x" * 2**20}).encode()
    headers = {"Content-Type": "application/json"}
    error_of(customer.call("POST", "/projects", content=body, headers=headers), 413, "payload_too_large")


def test_body_that_hides_its_size_is_too_large_all_the_same(customer: Customer) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 2**15

    headers = {"Content-Type": "application/json"}
    error_of(customer.call("POST", "/projects", content=chunks(), headers=headers), 413, "payload_too_large")


def test_body_of_the_limit_is_read(customer: Customer) -> None:
    body = json.dumps({"name": "Shop", "url": "https://shop.example"}).encode().ljust(MAX_BODY_BYTES)
    headers = {"Content-Type": "application/json"}
    assert customer.call("POST", "/projects", content=body, headers=headers).status_code == 201
