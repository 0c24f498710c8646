"""Requests with an Idempotency-Key, and comparison of their answers."""

from typing import Any

import httpx2

from tests.api.customers import Customer

SHOP = {"name": "Shop", "url": "https://shop.example"}
REPLAYED = "Idempotent-Replayed"


def send(
    customer: Customer, method: str, path: str, key: str = "order-17", **arguments: Any
) -> httpx2.Response:
    headers = {"Idempotency-Key": key, **arguments.pop("headers", {})}
    return customer.call(method, path, headers=headers, **arguments)


def count(customer: Customer) -> int:
    total: int = customer.get("/projects").json()["meta"]["total"]
    return total


def is_repeated(first: httpx2.Response, again: httpx2.Response) -> bool:
    """Return whether the second answer is the first one, marked as replayed."""
    assert REPLAYED not in first.headers
    same = ("content-type", "x-request-id", "cache-control")
    return (
        again.headers.get(REPLAYED) == "true"
        and (again.status_code, again.content) == (first.status_code, first.content)
        and all(again.headers.get(name) == first.headers.get(name) for name in same)
    )
